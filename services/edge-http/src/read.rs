//! The convenience reads: a query string becomes a request message, and only the body of its answer is shown.

use aip_edge::{Edge, MediaType, Message, Refusal};
use aip_service::receive::EdgeContext;
use aip_types::{
    ActionEventsRequest, ActionId, ActionResultRequest, ActionStatusRequest, ManifestFilter, ManifestRequest,
    MessageBody, ProtocolError, ReceiptQueryRequest, RiskLevel, SideEffect,
};
use axum::{
    body::Body,
    extract::{Path, State, rejection::PathRejection},
    http::{HeaderMap, Response, Uri},
};

use crate::{
    follow,
    query::{Query, invalid},
};

/// The one id in a path. What cannot be decoded is no id.
pub(crate) type Id = Result<Path<String>, PathRejection>;

/// A translated request, and how long its owner may wait.
type Translated = Result<(MessageBody, Option<u64>), ProtocolError>;

/// `GET /aip/v1/manifest`.
pub(crate) async fn manifest(
    State(edge): State<Edge>,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Refusal> {
    read(&edge, &headers, &uri, manifest_request).await
}

/// `GET /aip/v1/actions/{action_id}`.
pub(crate) async fn status(
    State(edge): State<Edge>,
    id: Id,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Refusal> {
    read(&edge, &headers, &uri, |query| status_request(action_id(id)?, query)).await
}

/// `GET /aip/v1/actions/{action_id}/result`.
pub(crate) async fn result(
    State(edge): State<Edge>,
    id: Id,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Refusal> {
    read(&edge, &headers, &uri, |query| result_request(action_id(id)?, query)).await
}

/// `GET /aip/v1/actions/{action_id}/events`.
pub(crate) async fn events(
    State(edge): State<Edge>,
    id: Id,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Refusal> {
    events_of(edge, id, headers, &uri, events_request).await
}

/// `GET /aip/v1/actions/{action_id}/chunks`: the same, but nothing else than chunks.
pub(crate) async fn chunks(
    State(edge): State<Edge>,
    id: Id,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Refusal> {
    events_of(edge, id, headers, &uri, chunks_request).await
}

/// A page, or a stream for who asks for one.
async fn events_of(
    edge: Edge,
    id: Id,
    headers: HeaderMap,
    uri: &Uri,
    translate: impl FnOnce(ActionId, &mut Query) -> Result<ActionEventsRequest, ProtocolError>,
) -> Result<Response<Body>, Refusal> {
    let context = edge.require(&headers)?;
    let mut query = Query::of(uri)?;
    let request = translate(action_id(id)?, &mut query)?;
    query.end()?;
    if request.follow || follow::is_wanted(&headers) {
        if request.limit.is_some() {
            return Err(invalid("limit", "not_with_follow").into());
        }
        return follow::follow(edge, headers, request).await;
    }
    answered(&edge, &context, request.into(), None).await
}

/// `GET /aip/v1/receipts/{chain_id}`.
pub(crate) async fn receipts(
    State(edge): State<Edge>,
    id: Id,
    headers: HeaderMap,
    uri: Uri,
) -> Result<Response<Body>, Refusal> {
    read(&edge, &headers, &uri, |_| {
        let Path(chain_id) = id.map_err(|_| invalid("chain_id", "utf8"))?;
        Ok((ReceiptQueryRequest { chain_id: Some(chain_id), ..ReceiptQueryRequest::default() }.into(), None))
    })
    .await
}

/// Who asks comes first, then what: a stranger learns nothing about the query.
async fn read(
    edge: &Edge,
    headers: &HeaderMap,
    uri: &Uri,
    translate: impl FnOnce(&mut Query) -> Translated,
) -> Result<Response<Body>, Refusal> {
    let context = edge.require(headers)?;
    let mut query = Query::of(uri)?;
    let (body, wait_ms) = translate(&mut query)?;
    query.end()?;
    answered(edge, &context, body, wait_ms).await
}

async fn answered(
    edge: &Edge,
    context: &EdgeContext,
    body: MessageBody,
    wait_ms: Option<u64>,
) -> Result<Response<Body>, Refusal> {
    let message = Message::translated(body, wait_ms)?;
    let answer = edge.forward(&message, context).await;
    let answer = answer.map_err(|error| Refusal::new(error, message.correlation().clone(), MediaType::default()))?;
    Ok(answer.into_body(MediaType::default()))
}

pub(crate) fn action_id(id: Id) -> Result<ActionId, ProtocolError> {
    let Path(id) = id.map_err(|_| invalid("action_id", "utf8"))?;
    tracing::Span::current().record("action_id", id.as_str());
    Ok(ActionId::new(id))
}

fn manifest_request(query: &mut Query) -> Translated {
    let filter = ManifestFilter {
        capability_ids: query.list("capability_id")?,
        resource_kinds: query.list("resource_kind")?,
        profiles: query.list("profile")?,
        risk: query.words("risk", RiskLevel::from_wire)?,
        side_effects: query.words("side_effect", SideEffect::from_wire)?,
        requires_approval: query.flag("requires_approval")?,
        supports_streaming: query.flag("supports_streaming")?,
        supports_transactions: query.flag("supports_transactions")?,
    };
    let filter = (filter != ManifestFilter::default()).then_some(filter);
    Ok((ManifestRequest { profiles: Vec::new(), filter }.into(), None))
}

fn status_request(id: ActionId, query: &mut Query) -> Translated {
    let wait_ms = query.number("wait_ms")?;
    let request = ActionStatusRequest {
        tenant_id: query.text("tenant_id"),
        include_result: query.is_set("include_result")?,
        include_receipts: query.is_set("include_receipts")?,
        include_chunks: query.is_set("include_chunks")?,
        wait_ms,
        ..ActionStatusRequest::new(id)
    };
    Ok((request.into(), wait_ms))
}

fn result_request(id: ActionId, query: &mut Query) -> Translated {
    let wait_ms = query.number("wait_ms")?;
    let request = ActionResultRequest {
        tenant_id: query.text("tenant_id"),
        wait_ms,
        include_receipt: query.is_set("include_receipt")?,
        include_terminal_events: query.is_set("include_terminal_events")?,
        ..ActionResultRequest::new(id)
    };
    Ok((request.into(), wait_ms))
}

/// The kind that stands for chunks.
const CHUNK_KIND: &str = "aip.stream.chunk";

fn chunks_request(id: ActionId, query: &mut Query) -> Result<ActionEventsRequest, ProtocolError> {
    Ok(ActionEventsRequest { kinds: vec![CHUNK_KIND.to_owned()], include_chunks: true, ..events_request(id, query)? })
}

fn events_request(id: ActionId, query: &mut Query) -> Result<ActionEventsRequest, ProtocolError> {
    let mut kinds: Vec<String> = query.list("kinds")?;
    kinds.extend(query.text("kind"));
    Ok(ActionEventsRequest {
        tenant_id: query.text("tenant_id"),
        cursor: query.text("cursor"),
        limit: query.number("limit")?,
        kinds,
        include_chunks: query.is_set("include_chunks")?,
        follow: query.is_set("follow")?,
        ..ActionEventsRequest::new(id)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(query: &str, translate: impl FnOnce(&mut Query) -> Translated) -> Result<String, String> {
        let uri: Uri = format!("/x?{query}").parse().unwrap();
        let mut query = Query::of(&uri).map_err(pointer)?;
        let (body, _) = translate(&mut query).map_err(pointer)?;
        query.end().map_err(pointer)?;
        Ok(serde_json::to_string(&body).unwrap())
    }

    fn pointer(error: ProtocolError) -> String {
        assert_eq!(error.code, "aip.query.invalid");
        error.details.unwrap()["pointer"].as_str().unwrap().to_owned()
    }

    fn page_of(query: &mut Query) -> Translated {
        events_request(id(), query).map(|request| (request.into(), None))
    }

    fn id() -> ActionId {
        ActionId::new("act_1")
    }

    #[test]
    fn a_query_becomes_a_request_of_the_same_meaning() {
        let status = translated("tenant_id=acme&include_result=true&include_receipts=false&wait_ms=250", |query| {
            status_request(id(), query)
        });
        assert_eq!(
            status.unwrap(),
            r#"{"action_status_request":{"action_id":"act_1","tenant_id":"acme","include_result":true,"wait_ms":250}}"#
        );
        let result =
            translated("include_terminal_events=true&include_receipt=true", |query| result_request(id(), query));
        assert_eq!(
            result.unwrap(),
            r#"{"action_result_request":{"action_id":"act_1","include_receipt":true,"include_terminal_events":true}}"#
        );
        let events = translated("cursor=c%201&limit=7&kinds=a,b&kind=c&follow=false", page_of);
        assert_eq!(
            events.unwrap(),
            r#"{"action_events_request":{"action_id":"act_1","cursor":"c 1","limit":7,"kinds":["a","b","c"]}}"#
        );
    }

    #[test]
    fn a_manifest_query_filters_only_by_what_it_names() {
        assert_eq!(translated("", manifest_request).unwrap(), r#"{"manifest_request":{}}"#);
        assert_eq!(
            translated("capability_id=cap:a,cap:b&risk=low,high&supports_streaming=false", manifest_request).unwrap(),
            r#"{"manifest_request":{"filter":{"capability_ids":["cap:a","cap:b"],"risk":["low","high"],"supports_streaming":false}}}"#
        );
    }

    #[test]
    fn a_wrong_query_is_refused_by_the_name_of_the_parameter() {
        for (query, place) in [
            ("wait_ms=soon", "/wait_ms"),
            ("wait_ms=-1", "/wait_ms"),
            ("wait_ms=%2B1", "/wait_ms"),
            ("wait_ms=", "/wait_ms"),
            ("wait_ms=99999999999999999999", "/wait_ms"),
            ("include_result=yes", "/include_result"),
            ("include_results=true", "/include_results"),
            ("token=t", "/token"),
            ("wait_ms=1&wait_ms=1", "/wait_ms"),
            ("a~/b=1", "/a~0~1b"),
        ] {
            assert_eq!(translated(query, |query| status_request(id(), query)), Err(place.to_owned()), "{query}");
        }
        for (query, place) in [
            ("follow=yes", "/follow"),
            ("limit=1.5", "/limit"),
            ("limit=4294967296", "/limit"),
            ("kinds=a,,b", "/kinds"),
            ("kinds=", "/kinds"),
        ] {
            assert_eq!(translated(query, page_of), Err(place.to_owned()), "{query}");
        }
        for (query, place) in [
            ("risk=odd", "/risk"),
            ("side_effect=read,odd", "/side_effect"),
            ("requires_approval=1", "/requires_approval"),
        ] {
            assert_eq!(translated(query, manifest_request), Err(place.to_owned()), "{query}");
        }
    }
}
