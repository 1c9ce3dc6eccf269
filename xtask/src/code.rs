//! Rust source as far as tidy must understand it: what is code, which lines are tests, where functions end.

use std::ops::Range;

/// A source text with everything that is not code blanked: comments, strings and character literals become spaces, so
/// that braces and words in them count for nothing. Line breaks stay where they are.
pub(crate) struct Code {
    chars: Vec<char>,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// Its name.
    pub(crate) name: String,
    /// The line of `fn`, from 1.
    pub(crate) line: usize,
    /// Lines from `fn` to the closing brace, both counted.
    pub(crate) lines: usize,
}

impl Code {
    pub(crate) fn parse(source: &str) -> Self {
        Self { chars: Blanker::new(source).run() }
    }

    /// The code as text.
    pub(crate) fn text(&self) -> String {
        self.chars.iter().collect()
    }

    /// Ranges of lines (from 1) that are compiled for tests only: items under `#[cfg(test)]`.
    pub(crate) fn test_lines(&self) -> Vec<Range<usize>> {
        let text = self.text();
        let mut ranges = Vec::new();
        for marker in ["#[cfg(test)]", "#[cfg(all(test"] {
            for (at, _) in text.match_indices(marker) {
                let start = text.get(..at).map_or(0, |before| before.chars().count());
                let after = start.saturating_add(marker.chars().count());
                let end = self.item_end(after);
                ranges.push(self.line_of(start)..self.line_of(end).saturating_add(1));
            }
        }
        ranges
    }

    /// Every function that has a body, test functions included.
    pub(crate) fn functions(&self) -> Vec<Function> {
        let words = self.words();
        let mut found = Vec::new();
        for pair in words.windows(2) {
            let [(_, keyword), (at, name)] = pair else { continue };
            if keyword != "fn" || !self.only_space_between(pair) {
                continue;
            }
            let Some(open) = self.body_start(*at) else { continue };
            let (first, last) = (self.line_of(*at), self.line_of(self.closing(open)));
            found.push(Function {
                name: name.clone(),
                line: first,
                lines: last.saturating_sub(first).saturating_add(1),
            });
        }
        found
    }

    /// Names of the modules that the text declares.
    pub(crate) fn modules(&self) -> Vec<String> {
        let words = self.words();
        let declared = words.windows(2).filter(|pair| self.only_space_between(pair));
        declared
            .filter_map(|pair| matches!(pair, [(_, keyword), _] if keyword == "mod").then(|| pair.last().cloned())?)
            .map(|(_, name)| name)
            .collect()
    }

    /// Words with their positions, in order.
    fn words(&self) -> Vec<(usize, String)> {
        let mut words: Vec<(usize, String)> = Vec::new();
        let mut inside = false;
        for (at, character) in self.chars.iter().enumerate() {
            let part = character.is_alphanumeric() || *character == '_';
            match (part, inside, words.last_mut()) {
                (true, true, Some((_, word))) => word.push(*character),
                (true, _, _) => words.push((at, character.to_string())),
                (false, _, _) => {}
            }
            inside = part;
        }
        words
    }

    fn only_space_between(&self, pair: &[(usize, String)]) -> bool {
        let [(left, keyword), (right, _)] = pair else { return false };
        let from = left.saturating_add(keyword.chars().count());
        self.chars.get(from..*right).is_some_and(|between| between.iter().all(|character| character.is_whitespace()))
    }

    /// The opening brace of the body of the item at `from`; none where it ends with `;`.
    fn body_start(&self, from: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for (at, character) in self.chars.iter().enumerate().skip(from) {
            match character {
                '(' | '[' => depth = depth.saturating_add(1),
                ')' | ']' => depth = depth.saturating_sub(1),
                '{' if depth == 0 => return Some(at),
                ';' if depth == 0 => return None,
                _ => {}
            }
        }
        None
    }

    /// The brace that closes the one at `open`; the last character where none does.
    fn closing(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for (at, character) in self.chars.iter().enumerate().skip(open) {
            match character {
                '{' => depth = depth.saturating_add(1),
                '}' if depth <= 1 => return at,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        self.chars.len().saturating_sub(1)
    }

    /// Where the item that begins at `from` ends: its closing brace, or its `;`.
    fn item_end(&self, from: usize) -> usize {
        let semicolon = || self.chars.iter().skip(from).position(|character| *character == ';');
        match self.body_start(from) {
            Some(open) => self.closing(open),
            None => from.saturating_add(semicolon().unwrap_or(0)),
        }
    }

    fn line_of(&self, at: usize) -> usize {
        self.chars.iter().take(at).filter(|character| **character == '\n').count().saturating_add(1)
    }
}

/// Reads a source once and blanks what is not code.
struct Blanker {
    chars: Vec<char>,
    at: usize,
    out: Vec<char>,
}

impl Blanker {
    fn new(source: &str) -> Self {
        Self { chars: source.chars().collect(), at: 0, out: Vec::new() }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at.saturating_add(ahead)).copied()
    }

    fn keep(&mut self) {
        self.out.extend(self.peek(0));
        self.at = self.at.saturating_add(1);
    }

    fn blank(&mut self) {
        self.out.extend(self.peek(0).map(|character| if character == '\n' { '\n' } else { ' ' }));
        self.at = self.at.saturating_add(1);
    }

    fn run(mut self) -> Vec<char> {
        while let Some(character) = self.peek(0) {
            match (character, self.peek(1)) {
                ('/', Some('/')) => self.blank_while(|b| b.peek(0).is_some_and(|c| c != '\n')),
                ('/', Some('*')) => self.block_comment(),
                ('"', _) => self.string(),
                ('\'', _) => self.quote(),
                _ if self.raw_string_hashes().is_some() => self.raw_string(),
                _ => self.keep(),
            }
        }
        self.out
    }

    fn blank_while(&mut self, go_on: impl Fn(&Self) -> bool) {
        while go_on(self) {
            self.blank();
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        while self.peek(0).is_some() {
            match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => depth = depth.saturating_add(1),
                (Some('*'), Some('/')) => depth = depth.saturating_sub(1),
                _ => {
                    self.blank();
                    continue;
                }
            }
            self.blank();
            self.blank();
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.blank();
        while let Some(character) = self.peek(0) {
            self.blank();
            match character {
                '"' => return,
                '\\' => self.blank(),
                _ => {}
            }
        }
    }

    /// A character literal is blanked; a lifetime or a label stays.
    fn quote(&mut self) {
        if self.peek(1) == Some('\\') {
            self.blank();
            self.blank();
            self.blank(); // what is escaped, so that '\'' does not end early
            self.blank_while(|b| b.peek(0).is_some_and(|c| c != '\''));
            self.blank();
        } else if self.peek(2) == Some('\'') {
            self.blank();
            self.blank();
            self.blank();
        } else {
            self.keep();
        }
    }

    /// The number of `#` of a raw string that begins here (`r"`, `br#"`, `cr#"`).
    fn raw_string_hashes(&self) -> Option<usize> {
        let in_word = |c: &char| c.is_alphanumeric() || *c == '_';
        if self.at.checked_sub(1).and_then(|before| self.chars.get(before)).is_some_and(in_word) {
            return None;
        }
        let prefix = match (self.peek(0), self.peek(1)) {
            (Some('b' | 'c'), Some('r')) => 2,
            (Some('r'), _) => 1,
            _ => return None,
        };
        let hashes = self.chars.iter().skip(self.at.saturating_add(prefix)).take_while(|c| **c == '#').count();
        (self.peek(prefix + hashes) == Some('"')).then_some(hashes)
    }

    fn raw_string(&mut self) {
        let hashes = self.raw_string_hashes().unwrap_or(0);
        self.blank_while(|b| b.peek(0).is_some_and(|c| c != '"'));
        self.blank();
        self.blank_while(|b| b.peek(0).is_some() && !b.closes(hashes));
        (0..=hashes).for_each(|_| self.blank());
    }

    fn closes(&self, hashes: usize) -> bool {
        self.peek(0) == Some('"') && (1..=hashes).all(|ahead| self.peek(ahead) == Some('#'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(source: &str) -> Vec<(String, usize, usize)> {
        Code::parse(source).functions().into_iter().map(|f| (f.name, f.line, f.lines)).collect()
    }

    #[test]
    fn comments_strings_and_characters_are_no_code() {
        let source =
            "a /* { /* } */ { */ b // {\n\"{ \\\" {\" '{' '\\'' '\\u{7b}' b'{' 'life: r#\"{ \" {\"# br\"{\" tail";
        let text = Code::parse(source).text();
        assert!(!text.contains('{') && !text.contains('}'), "{text}");
        assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["a", "b", "b", "'life:", "tail"]);
        assert_eq!(text.lines().count(), source.lines().count());
    }

    #[test]
    fn functions_are_measured_to_their_closing_brace() {
        let source = "fn one() {}\ntrait T { fn declared(&self); }\nfn two(f: fn(u8) -> u8)\nwhere u8: Copy,\n{\n  if true { let x = \"}\"; }\n}\n";
        assert_eq!(names(source), [("one".into(), 1, 1), ("two".into(), 3, 5)]);
        assert_eq!(names("fn outer() {\n fn inner() {\n }\n}"), [("outer".into(), 1, 4), ("inner".into(), 2, 2)]);
        assert_eq!(names("macro_rules! m { () => { fn $name() {} } }"), []);
    }

    #[test]
    fn test_modules_are_known_by_their_lines() {
        let code =
            Code::parse("fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() {}\n}\nfn c() {}\n#[cfg(test)]\nmod outside;\n");
        assert_eq!(code.test_lines(), [2..6, 7..9]);
    }

    #[test]
    fn modules_are_listed() {
        assert_eq!(
            Code::parse("mod a;\npub(crate) mod b { mod c; }\n// mod d;\nlet model = 1;").modules(),
            ["a", "b", "c"]
        );
    }
}
