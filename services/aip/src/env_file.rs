//! `DIR/env`: lines of `export NAME='value'`, to be sourced by people and tests. The only place of the tokens.

use std::{collections::BTreeMap, path::Path};

use crate::{
    failure::Failure,
    home::{self, Home},
};

/// The variables, by name.
pub(crate) type Variables = BTreeMap<String, String>;

/// What an earlier run wrote; empty where there is nothing.
pub(crate) fn read(home: &Home) -> Result<Variables, Failure> {
    read_at(&home.env())
}

/// The same of a fleet that another process runs.
pub(crate) fn read_at(path: &Path) -> Result<Variables, Failure> {
    Ok(home::read(path)?.map(|text| parse(&text)).unwrap_or_default())
}

/// Replaces the file.
pub(crate) fn write(home: &Home, variables: &Variables) -> Result<(), Failure> {
    home::write_private(&home.env(), &render(variables))
}

fn render(variables: &Variables) -> String {
    let line = |(name, value): (&String, &String)| format!("export {name}='{}'\n", value.replace('\'', r"'\''"));
    variables.iter().map(line).collect()
}

fn parse(text: &str) -> Variables {
    let variable = |line: &str| {
        let (name, value) = line.strip_prefix("export ")?.split_once('=')?;
        let value = value.strip_prefix('\'')?.strip_suffix('\'')?;
        Some((name.to_owned(), value.replace(r"'\''", "'")))
    };
    text.lines().filter_map(variable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        let pairs = [("AIP_URL", "http://127.0.0.1:8080"), ("AIP_DIR", "/it's $HOME/a b"), ("EMPTY", "")];
        let variables: Variables = pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        assert_eq!(parse(&render(&variables)), variables);
        assert_eq!(parse("# a comment\nexport BROKEN\nAIP_TOKEN='x'\n"), Variables::new());
    }
}
