//! What every row keeps.

use super::*;

#[test]
fn every_code_is_unique_namespaced_and_found_by_its_text() {
    for &code in ErrorCode::ALL {
        let row = code.row();
        assert!(row.code.starts_with("aip.") && row.code.bytes().all(|b| b.is_ascii_lowercase() || b"._".contains(&b)));
        assert_eq!(ErrorCode::from_code(row.code), Some(code));
        assert!(row.message.ends_with('.') && row.meaning.ends_with('.'));
    }
    assert_eq!(ErrorCode::from_code("aip.nothing"), None);
}

#[test]
fn a_specific_status_is_one_that_the_category_admits() {
    for &code in ErrorCode::ALL {
        let row = code.row();
        let specific: &[u16] = match row.category {
            ErrorCategory::Permanent => &[404, 405, 409, 410, 413, 415],
            ErrorCategory::Temporary => &[429],
            ErrorCategory::Auth => &[403],
            ErrorCategory::Policy | ErrorCategory::Economic | ErrorCategory::Connector | ErrorCategory::Transport => {
                &[]
            }
        };
        assert!(row.http_status == http_status(row.category) || specific.contains(&row.http_status), "{code}");
    }
}
