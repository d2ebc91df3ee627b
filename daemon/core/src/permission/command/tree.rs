//! From the grammar's tree to simple commands.
//!
//! Every kind of node that is let through is named here; any other makes the command [`Unparsed`]. Between the parts of a
//! node only blanks may stand. At the end every command that the tree holds must have been visited.

use super::word::{self, Word};
use super::{Assignment, MAX_COMMANDS, MAX_DEPTH, MAX_TEXT, Parsed, Simple, Unparsed, odd};
use std::collections::HashSet;
use std::ops::ControlFlow;
use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

/// How often the grammar reports progress before it is given up; it does so every hundred steps or so, and a text of the
/// greatest length takes a few thousand reports.
const MAX_PROGRESS: u32 = 100_000;

/// How deeply texts may lie in texts: back quotes, `sh -c`.
const MAX_LEVEL: u8 = 4;

/// Words that are no programs.
const RESERVED: &[&str] = &[
    "!", "{", "}", "[[", "]]", "((", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for", "function",
    "if", "in", "select", "then", "until", "while",
];

/// Reads a command.
pub fn parse(text: &str) -> Result<Parsed, Unparsed> {
    parse_inside(text, 0)
}

/// Reads a command that was found `level` texts deep in another.
pub fn parse_inside(text: &str, level: u8) -> Result<Parsed, Unparsed> {
    if text.len() > MAX_TEXT {
        return Err(Unparsed(format!("it is longer than {MAX_TEXT} bytes")));
    }
    if level > MAX_LEVEL {
        return Err(too_deep());
    }
    odd::check(text)?;
    let tree = grammar(text)?;
    let root = tree.root_node();
    if root.has_error() {
        return Err(Unparsed("it is not a command that can be understood".to_owned()));
    }
    blank(text, 0, root.start_byte(), true)?;
    blank(text, root.end_byte(), text.len(), true)?;
    let mut walk = Walk { text, root, level, out: Parsed::default(), visited: HashSet::new() };
    walk.statement(root, false, 0)?;
    walk.all_visited()?;
    Ok(walk.out)
}

/// The tree of a text. The grammar's scanner is C, and asks the C library about digits in ways that are defined for ASCII
/// only, so it never sees anything else: what is not ASCII is part of a word to bash as the letter is that stands for it
/// here, byte for byte, so that places stay. Words themselves are read from the text.
fn grammar(text: &str) -> Result<Tree, Unparsed> {
    let unable = || Unparsed("it cannot be read".to_owned());
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).map_err(|_| unable())?;
    let mut reports = 0u32;
    let mut progress = |_: &ParseState| {
        reports += 1;
        if reports > MAX_PROGRESS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let ascii: Vec<u8> = text.bytes().map(|byte| if byte.is_ascii() && byte != 0 { byte } else { b'x' }).collect();
    let mut chunk = |at: usize, _| ascii.get(at..).unwrap_or_default();
    parser.parse_with_options(&mut chunk, None, Some(options)).ok_or_else(unable)
}

fn too_deep() -> Unparsed {
    Unparsed("it is nested too deeply".to_owned())
}

pub(super) fn strange(node: Node<'_>) -> Unparsed {
    Unparsed(format!("it holds something that is not understood ({})", node.kind().escape_default()))
}

/// Only blanks and joined lines may stand between parts; line ends only where they separate commands.
pub(super) fn blank(text: &str, from: usize, to: usize, lines: bool) -> Result<(), Unparsed> {
    let gap = text.get(from..to).unwrap_or("?").replace("\\\n", "");
    if gap.chars().all(|c| matches!(c, ' ' | '\t') || lines && c == '\n') {
        Ok(())
    } else {
        Err(Unparsed("its parts are not clear".to_owned()))
    }
}

pub(super) struct Walk<'a> {
    pub(super) text: &'a str,
    root: Node<'a>,
    level: u8,
    out: Parsed,
    pub(super) visited: HashSet<usize>,
}

impl<'a> Walk<'a> {
    pub(super) fn source(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Where a node begins without the blanks that the grammar counts to it.
    pub(super) fn begin(&self, node: Node<'_>) -> usize {
        let source = self.source(node);
        node.start_byte() + source.len() - source.trim_start_matches([' ', '\t', '\n']).len()
    }

    pub(super) fn push(&mut self, simple: Simple) -> Result<(), Unparsed> {
        if self.out.commands.len() >= MAX_COMMANDS {
            return Err(Unparsed(format!("it holds more than {MAX_COMMANDS} commands")));
        }
        if simple.name() == Some("alias") {
            for word in simple.words.iter().skip(1) {
                let text = word.literal().ok_or_else(|| Unparsed(format!("what alias `{word}` makes is not known")))?;
                self.out.redefined.extend(text.split_once('=').map(|(name, _)| name.to_owned()));
            }
        }
        self.out.commands.push(simple);
        Ok(())
    }

    /// The children of a node, with nothing but blanks before, between and after them.
    pub(super) fn parts(&self, node: Node<'a>, lines: bool) -> Result<Vec<Node<'a>>, Unparsed> {
        let parts: Vec<Node<'a>> = node.children(&mut node.walk()).collect();
        let mut at = node.start_byte();
        for part in &parts {
            blank(self.text, at, part.start_byte(), lines)?;
            at = part.end_byte();
        }
        blank(self.text, at, node.end_byte(), lines)?;
        Ok(parts)
    }

    pub(super) fn statement(&mut self, node: Node<'a>, fed: bool, depth: usize) -> Result<(), Unparsed> {
        if depth > MAX_DEPTH {
            return Err(too_deep());
        }
        self.visited.insert(node.id());
        match node.kind() {
            "program" | "list" | "subshell" | "do_group" | "if_statement" | "elif_clause" | "else_clause"
            | "while_statement" | "negated_command" | "compound_statement" | "pipeline" => self.group(node, fed, depth),
            "command"
            | "test_command"
            | "declaration_command"
            | "unset_command"
            | "variable_assignment"
            | "variable_assignments" => {
                let simple = self.simple(node, fed, depth)?;
                self.push(simple)
            }
            "redirected_statement" => self.redirected(node, fed, depth),
            "for_statement" => self.for_each(node, fed, depth),
            "case_statement" => self.case(node, fed, depth),
            "function_definition" => self.function(node, depth),
            "comment" => self.comment(node),
            _ => Err(strange(node)),
        }
    }

    fn group(&mut self, node: Node<'a>, mut fed: bool, depth: usize) -> Result<(), Unparsed> {
        for part in self.parts(node, true)? {
            match part.kind() {
                "|" | "|&" => fed = true,
                _ if part.is_named() => self.statement(part, fed, depth + 1)?,
                ";" | "&" | "\n" | "&&" | "||" | "(" | ")" | "{" | "}" | "do" | "done" | "if" | "then" | "fi"
                | "elif" | "else" | "while" | "until" | "!" => {}
                _ => return Err(strange(part)),
            }
        }
        Ok(())
    }

    /// A comment must begin where bash sees one begin.
    fn comment(&self, node: Node<'_>) -> Result<(), Unparsed> {
        let before = self.text.get(..node.start_byte()).unwrap_or_default();
        match before.chars().next_back() {
            None | Some(' ' | '\t' | '\n' | ';') if !before.ends_with("\\\n") && !before.ends_with("\\ ") => Ok(()),
            _ => Err(strange(node)),
        }
    }

    pub(super) fn word(&mut self, from: usize, to: usize, depth: usize) -> Result<Word, Unparsed> {
        let text = self.text;
        word::read(text, from, to, &mut |at| self.substitution(at, depth + 1))
    }

    pub(super) fn node_word(&mut self, node: Node<'a>, depth: usize) -> Result<Word, Unparsed> {
        self.word(self.begin(node), node.end_byte(), depth)
    }

    pub(super) fn simple(&mut self, node: Node<'a>, fed: bool, depth: usize) -> Result<Simple, Unparsed> {
        self.visited.insert(node.id());
        let mut simple = Simple { fed, ..Simple::default() };
        match node.kind() {
            "command" => self.command(node, &mut simple, depth)?,
            "variable_assignment" => simple.assignments.push(self.assignment(node, depth)?),
            "variable_assignments" => {
                for part in self.parts(node, false)? {
                    if part.kind() != "variable_assignment" {
                        return Err(strange(part));
                    }
                    simple.assignments.push(self.assignment(part, depth)?);
                }
            }
            _ => simple.words = self.test_words(node, depth)?,
        }
        Ok(simple)
    }

    fn command(&mut self, node: Node<'a>, simple: &mut Simple, depth: usize) -> Result<(), Unparsed> {
        let mut spans: Vec<(usize, usize)> = Vec::new();
        for part in self.parts(node, false)? {
            match part.kind() {
                "variable_assignment" if spans.is_empty() => simple.assignments.push(self.assignment(part, depth)?),
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                    for extra in self.redirect(part, simple, depth)? {
                        spans.push((self.begin(extra), extra.end_byte()));
                    }
                }
                "comment" | "subshell" => return Err(strange(part)),
                _ => match spans.last_mut() {
                    Some(last) if last.1 == part.start_byte() && self.begin(part) == part.start_byte() => {
                        last.1 = part.end_byte();
                    }
                    _ => spans.push((self.begin(part), part.end_byte())),
                },
            }
        }
        for (from, to) in spans {
            let word = self.word(from, to, depth)?;
            simple.words.push(word);
        }
        if let Some(first) = simple.words.first() {
            let reserved = RESERVED.contains(&first.source.as_str());
            let assigns = first.source.split_once('=').is_some_and(|(name, _)| is_target(name));
            if reserved || assigns {
                return Err(Unparsed(format!("it is not clear what `{first}` does in it")));
            }
        }
        Ok(())
    }

    fn assignment(&mut self, node: Node<'a>, depth: usize) -> Result<Assignment, Unparsed> {
        let source = self.source(node);
        let (name, _) = source.split_once('=').ok_or_else(|| strange(node))?;
        let value = self.word(node.start_byte() + name.len() + 1, node.end_byte(), depth)?;
        let name = name.strip_suffix('+').unwrap_or(name);
        if !is_name(name) {
            return Err(strange(node));
        }
        Ok(Assignment { name: name.to_owned(), value })
    }

    /// The words of `[ … ]`, `[[ … ]]`, `export …` and their like, which the grammar splits further than bash does.
    fn test_words(&mut self, node: Node<'a>, depth: usize) -> Result<Vec<Word>, Unparsed> {
        let (text, end) = (self.text, node.end_byte());
        let double = self.source(node).starts_with("[[");
        let mut words = Vec::new();
        let mut at = node.start_byte();
        while at < end {
            let rest = text.get(at..end).unwrap_or_default();
            if let Some(c @ (' ' | '\t')) = rest.chars().next() {
                at += c.len_utf8();
            } else if rest.starts_with("\\\n") {
                at += 2;
            } else if let Some(sign) = operator(rest).filter(|_| double) {
                words.push(Word::of(sign));
                at += sign.len();
            } else {
                let (word, next) = word::read_next(text, at, end, &mut |at| self.substitution(at, depth + 1))?;
                words.push(word);
                at = next;
            }
        }
        Ok(words)
    }

    fn for_each(&mut self, node: Node<'a>, fed: bool, depth: usize) -> Result<(), Unparsed> {
        let mut name = None;
        for part in self.parts(node, true)? {
            match part.kind() {
                "variable_name" if name.is_none() => name = Some(self.source(part).to_owned()),
                "do_group" | "comment" => self.statement(part, fed, depth + 1)?,
                "for" | "in" | ";" | "\n" => {}
                _ if part.is_named() => drop(self.node_word(part, depth)?),
                _ => return Err(strange(part)),
            }
        }
        let name = name.filter(|name| is_name(name)).ok_or_else(|| strange(node))?;
        let assignments = vec![Assignment { name, value: Word::unknown("\u{2026}") }];
        self.push(Simple { assignments, ..Simple::default() })
    }

    fn case(&mut self, node: Node<'a>, fed: bool, depth: usize) -> Result<(), Unparsed> {
        for part in self.parts(node, true)? {
            match part.kind() {
                "case_item" => {
                    let mut pattern = true;
                    for part in self.parts(part, true)? {
                        match part.kind() {
                            ")" => pattern = false,
                            "(" | "|" if pattern => {}
                            ";" | "&" | "\n" | ";;" | ";&" | ";;&" => {}
                            _ if part.is_named() && pattern => drop(self.node_word(part, depth)?),
                            _ if part.is_named() => self.statement(part, fed, depth + 1)?,
                            _ => return Err(strange(part)),
                        }
                    }
                }
                "case" | "in" | "esac" | "\n" | ";" => {}
                "comment" => self.comment(part)?,
                _ if part.is_named() => drop(self.node_word(part, depth)?),
                _ => return Err(strange(part)),
            }
        }
        Ok(())
    }

    fn function(&mut self, node: Node<'a>, depth: usize) -> Result<(), Unparsed> {
        let mut named = false;
        for part in self.parts(node, true)? {
            match part.kind() {
                "word" if !named => {
                    let name = self.node_word(part, depth)?;
                    self.out.redefined.push(name.literal().ok_or_else(|| strange(part))?.to_owned());
                    named = true;
                }
                "compound_statement" | "subshell" => self.statement(part, false, depth + 1)?,
                "file_redirect" => {
                    let mut own = Simple::default();
                    if let Some(extra) = self.redirect(part, &mut own, depth)?.first() {
                        return Err(strange(*extra));
                    }
                    self.push(own)?;
                }
                "function" | "(" | ")" => {}
                _ => return Err(strange(part)),
            }
        }
        Ok(())
    }

    /// Reads the substitution that begins at `at`, and gives its end.
    pub(super) fn substitution(&mut self, at: usize, depth: usize) -> Result<usize, Unparsed> {
        let rest = self.text.get(at..).unwrap_or_default();
        if let Some(inside) = rest.strip_prefix('`') {
            let (inside, _) =
                inside.split_once('`').ok_or_else(|| Unparsed("a back quote is not closed".to_owned()))?;
            if inside.contains('\\') {
                return Err(Unparsed("a backslash stands in back quotes".to_owned()));
            }
            let mut parsed = parse_inside(inside, self.level + 1)?;
            self.out.redefined.append(&mut parsed.redefined);
            for simple in parsed.commands {
                self.push(simple)?;
            }
            return Ok(at + inside.len() + 2);
        }
        let arithmetic = rest.starts_with("$((");
        let kinds: &[&str] =
            if arithmetic { &["arithmetic_expansion"] } else { &["command_substitution", "process_substitution"] };
        let unclear = || Unparsed("a substitution in it is not understood".to_owned());
        let node = self.node_at(at, kinds).ok_or_else(unclear)?;
        self.visited.insert(node.id());
        if arithmetic {
            let sum = |c: char| c.is_ascii_digit() || " +-*/%()<>=!&|^~?:".contains(c);
            let inside = rest.get(..node.end_byte() - at).and_then(|text| text.strip_prefix('$'));
            return match inside {
                Some(inside) if inside.chars().all(sum) => Ok(node.end_byte()),
                _ => Err(Unparsed("arithmetic with names can run commands".to_owned())),
            };
        }
        for part in self.parts(node, true)? {
            match part.kind() {
                "$(" | "<(" | ">(" | ")" | ";" | "&" | "\n" => {}
                "file_redirect" => {
                    let mut own = Simple::default();
                    if let Some(extra) = self.redirect(part, &mut own, depth)?.first() {
                        return Err(strange(*extra));
                    }
                    self.push(own)?;
                }
                _ if part.kind().trim() == "$(" => {}
                _ if part.is_named() => self.statement(part, rest.starts_with(">("), depth + 1)?,
                _ => return Err(strange(part)),
            }
        }
        Ok(node.end_byte())
    }

    fn node_at(&self, at: usize, kinds: &[&str]) -> Option<Node<'a>> {
        let mut node = self.root.descendant_for_byte_range(at, at + 2)?;
        loop {
            if kinds.contains(&node.kind()) {
                return (self.begin(node) == at).then_some(node);
            }
            node = node.parent()?;
        }
    }

    /// What the grammar sees as a command and this walk did not is something that the two read differently.
    fn all_visited(&self) -> Result<(), Unparsed> {
        let mut open = vec![self.root];
        while let Some(node) = open.pop() {
            let runs = matches!(
                node.kind(),
                "command"
                    | "command_substitution"
                    | "process_substitution"
                    | "test_command"
                    | "declaration_command"
                    | "unset_command"
                    | "function_definition"
                    | "file_redirect"
                    | "herestring_redirect"
                    | "heredoc_redirect"
            );
            let back_quoted = node.kind() == "command_substitution" && self.source(node).trim_start().starts_with('`');
            if back_quoted {
                continue;
            }
            if runs && !self.visited.contains(&node.id()) {
                return Err(Unparsed("it can be read in more than one way".to_owned()));
            }
            open.extend(node.children(&mut node.walk()));
        }
        Ok(())
    }
}

/// An operator of `[[ … ]]` that stands alone.
fn operator(rest: &str) -> Option<&'static str> {
    let alone = |sign: &&&str| rest.strip_prefix(**sign).is_some_and(|rest| rest.starts_with([' ', '\t']));
    ["&&", "||", "<", ">", "(", ")"].iter().find(alone).copied()
}

fn is_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether `name=` would assign: a name, an element of an array, or either with `+`.
fn is_target(name: &str) -> bool {
    let name = name.strip_suffix('+').unwrap_or(name);
    is_name(name.split_once('[').map_or(name, |(name, _)| name))
}
