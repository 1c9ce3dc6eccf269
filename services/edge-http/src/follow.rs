//! Server-sent events (AIP 1.0 §20.2): an action's events and chunks as they are stored, then its result.
//!
//! A follower is a reader with patience: it asks the owner for the next page when there is news, so what it may see is
//! judged again for each page, any edge can go on where another stopped, and a slow reader holds one page here. Every id is
//! a cursor of the owner. Inside of a page it is the cursor before it: who resumes there may see a part of it again
//! (AIP 1.0 §16.2).

use std::{
    collections::VecDeque,
    convert::Infallible,
    sync::{Arc, LazyLock},
    time::Duration,
};

use aip_edge::{Edge, Message, News, Refusal};
use aip_service::{Correlation, envelope, refusal, since_start};
use aip_types::{
    ActionEvents, ActionEventsRequest, ActionResultRequest, ErrorCategory, ErrorCode, Event, EventKind, MessageBody,
    ProtocolError, StreamChunk, limits, sse,
};
use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, Response, header},
    response::IntoResponse,
};
use futures::stream;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

/// A silent connection gets a comment this often.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// News can be lost, so a follower looks by itself; longer and longer while nothing happens.
const FIRST_LOOK: Duration = Duration::from_millis(250);
const LAST_LOOK: Duration = Duration::from_secs(15);
/// Between two looks for news, so that what is said quickly comes in pages and many followers do not slow the action down.
const GAP: Duration = Duration::from_millis(25);
/// What a client waits before it comes back, in milliseconds.
const COME_BACK_MS: u64 = 1_000;
/// Items of each kind in one page.
const PAGE: u32 = 100;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

static ROOM: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(limits::FOLLOWERS_MAX)));

/// Whether the client asks for a stream.
pub(crate) fn is_wanted(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|range| {
        let (essence, parameters) = range.split_once(';').unwrap_or((range, ""));
        let refused = parameters.split(';').any(|parameter| parameter.trim() == "q=0");
        essence.trim().eq_ignore_ascii_case("text/event-stream") && !refused
    })
}

/// Follows an action from a cursor, from the id that the client saw last, or from the start.
///
/// # Errors
/// Those of the first page; after it, an error is an event.
pub(crate) async fn follow(
    edge: Edge,
    headers: HeaderMap,
    mut wanted: ActionEventsRequest,
) -> Result<Response<Body>, Refusal> {
    let place = Arc::clone(&ROOM)
        .try_acquire_owned()
        .map_err(|_| ProtocolError::from(ErrorCode::RateLimited).with_retry_after_ms(limits::RETRY_AFTER_MS))?;
    if wanted.cursor.is_none() {
        let seen = headers.get(LAST_EVENT_ID).map(HeaderValue::to_str).transpose();
        wanted.cursor = seen.map_err(|_| ErrorCode::CursorInvalid)?.filter(|id| !id.is_empty()).map(str::to_owned);
    }
    let context = edge.require(&headers)?;
    // Subscribed before the first page is asked for, so nothing falls in between.
    let news = edge.news(&context, &wanted.action_id).await;
    let mut follower = Follower {
        edge,
        headers,
        wanted,
        news,
        frames: VecDeque::new(),
        ended: false,
        look: FIRST_LOOK,
        retry_ms: Some(COME_BACK_MS),
        _place: place,
    };
    let first = follower.page().await?;
    follower.take(first).await;
    let frames = stream::unfold(follower, |mut follower| async move {
        follower.next().await.map(|frame| (Ok::<_, Infallible>(frame), follower))
    });
    let common = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (X_ACCEL_BUFFERING, HeaderValue::from_static("no")),
    ];
    Ok((common, Body::from_stream(frames)).into_response())
}

struct Follower {
    edge: Edge,
    /// Who asks; looked at again for each page.
    headers: HeaderMap,
    /// What is asked next; its cursor moves on.
    wanted: ActionEventsRequest,
    news: News,
    frames: VecDeque<String>,
    ended: bool,
    look: Duration,
    retry_ms: Option<u64>,
    _place: OwnedSemaphorePermit,
}

impl Follower {
    /// The next frame; `None` ends the stream.
    async fn next(&mut self) -> Option<String> {
        let mut comment_at = since_start() + KEEP_ALIVE;
        loop {
            if let Some(frame) = self.frames.pop_front() {
                return Some(frame);
            }
            if self.ended || self.edge.is_draining() {
                return None; // a client comes back to another edge, with the id that it saw last
            }
            match self.page().await {
                Ok(page) => self.take(page).await,
                // It will pass, and the client need not know.
                Err(error) if matches!(error.category, ErrorCategory::Temporary | ErrorCategory::Transport) => {}
                Err(error) => self.end(refusal(error)),
            }
            if self.frames.is_empty() && !self.ended && !self.wait(comment_at).await {
                comment_at = since_start() + KEEP_ALIVE;
                self.frames.push_back(sse::comment("keep-alive"));
            }
        }
    }

    /// Waits for news, or until it is time to look again; `false` when it is time for a comment.
    async fn wait(&mut self, comment_at: Instant) -> bool {
        let look = self.look;
        self.look = look.saturating_mul(2).min(LAST_LOOK);
        tokio::select! {
            () = async { self.news.came().await; tokio::time::sleep(GAP).await } => true,
            () = self.edge.draining() => true,
            () = tokio::time::sleep(look) => true,
            () = tokio::time::sleep_until(comment_at) => false,
        }
    }

    /// Asks for what comes next.
    async fn page(&self) -> Result<ActionEvents, ProtocolError> {
        let mut wanted = ActionEventsRequest { limit: Some(PAGE), follow: false, ..self.wanted.clone() };
        if wanted.cursor.is_none() {
            // The first page is one item, so that every later id has a cursor to go back to.
            (wanted.limit, wanted.include_chunks) = (Some(1), false);
        }
        if let MessageBody::ActionEvents(page) = self.ask(wanted.into()).await? {
            Ok(*page)
        } else {
            Err(ErrorCode::Internal.into())
        }
    }

    async fn ask(&self, body: MessageBody) -> Result<MessageBody, ProtocolError> {
        let context = self.edge.require(&self.headers)?;
        let answer = self.edge.forward(&Message::translated(body, None)?, &context).await?;
        match answer.error() {
            Some(error) => Err(error.clone()),
            None => answer.body(),
        }
    }

    /// Turns a page into frames, and the last one of an action that has ended into its result as well.
    async fn take(&mut self, page: ActionEvents) {
        let ActionEvents { events, chunks, cursor, terminal, .. } = page;
        let before = self.wanted.cursor.clone();
        let Some(after) = cursor else { return self.end(refusal(ErrorCode::Internal.into())) };
        // What ends an action comes after what it said.
        let (last, first): (Vec<Event>, Vec<Event>) = events.into_iter().partition(ends);
        let told = |event| Item::Event(Box::new(event));
        let items =
            first.into_iter().map(told).chain(chunks.into_iter().map(Item::Chunk)).chain(last.into_iter().map(told));
        let items: Vec<Item> = items.collect();
        let count = items.len();
        if count > 0 {
            self.look = FIRST_LOOK;
        }
        for (index, item) in items.into_iter().enumerate() {
            let is_last = index.saturating_add(1) == count;
            let id = before.as_ref().filter(|_| !is_last).unwrap_or(&after).clone();
            let (correlation, body) = self.told(item);
            self.frame(&id, &correlation, body);
        }
        self.wanted.cursor = Some(after);
        let chunks_asked = before.is_some() || !self.wanted.include_chunks;
        if terminal && chunks_asked {
            self.settle().await;
        }
    }

    /// The result, which ends the stream.
    async fn settle(&mut self) {
        let request = ActionResultRequest {
            tenant_id: self.wanted.tenant_id.clone(),
            ..ActionResultRequest::new(self.wanted.action_id.clone())
        };
        match self.ask(request.into()).await {
            Ok(result) => self.end(result),
            // Asked for again at the next look.
            Err(error) if matches!(error.category, ErrorCategory::Temporary | ErrorCategory::Transport) => {}
            Err(error) => self.end(refusal(error)),
        }
    }

    fn end(&mut self, body: MessageBody) {
        self.ended = true;
        let id = self.wanted.cursor.clone().unwrap_or_else(|| "0".to_owned());
        self.frame(&id, &Correlation::default(), body);
    }

    fn told(&self, item: Item) -> (Correlation, MessageBody) {
        match item {
            Item::Event(event) => {
                let correlation = Correlation {
                    correlation_id: event.correlation_id.clone(),
                    session_id: event.session_id.clone(),
                    ..Correlation::default()
                };
                let events = ActionEvents::new(self.wanted.action_id.clone(), vec![*event], false);
                (correlation, events.into())
            }
            Item::Chunk(chunk) => (Correlation::default(), chunk.into()),
        }
    }

    fn frame(&mut self, id: &str, correlation: &Correlation, body: MessageBody) {
        let name = sse::EventName::of_body(&body);
        let text = serde_json::to_string(&envelope(correlation, body)).map_err(|fault| fault.to_string());
        let framed = text
            .and_then(|text| sse::frame_text(id, self.retry_ms.take(), name, &text).map_err(|fault| fault.to_string()));
        match framed {
            Ok(frame) => self.frames.push_back(frame),
            Err(fault) => {
                tracing::error!(fault, "writing an event");
                self.ended = true;
            }
        }
    }
}

/// Whether nothing comes after it but the result.
fn ends(event: &Event) -> bool {
    let last = [
        EventKind::ActionCompleted,
        EventKind::ActionFailed,
        EventKind::ActionCancelled,
        EventKind::ActionExpired,
        EventKind::ActionDeadLettered,
    ];
    last.iter().any(|kind| kind.as_str() == event.kind)
}

/// What is told.
enum Item {
    Event(Box<Event>),
    Chunk(StreamChunk),
}
