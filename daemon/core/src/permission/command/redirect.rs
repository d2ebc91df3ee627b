//! From the grammar's tree to redirections, with the words that the grammar counts to them and bash does not.

use super::heredoc;
use super::tree::{Walk, blank, strange};
use super::word::{self, Word};
use super::{Redirection, RedirectionKind, Simple, Unparsed};
use tree_sitter::Node;

impl<'a> Walk<'a> {
    pub(super) fn redirected(&mut self, node: Node<'a>, fed: bool, depth: usize) -> Result<(), Unparsed> {
        let (parts, missed) = self.redirected_parts(node, depth)?;
        let (redirects, bodies): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|part| part.kind().ends_with("_redirect"));
        let mut own = Simple { fed, ..Simple::default() };
        let mut extra = Vec::new();
        for redirect in redirects {
            // A line end before a redirection would make it another command's.
            let before = self.text.get(..redirect.start_byte()).unwrap_or_default();
            if before.trim_end_matches([' ', '\t']).ends_with('\n')
                && !before.trim_end_matches([' ', '\t']).ends_with("\\\n")
            {
                return Err(strange(redirect));
            }
            extra.extend(self.redirect(redirect, &mut own, depth)?);
        }
        let body = match bodies.as_slice() {
            [body] => Some(*body),
            [] => None,
            [_, second, ..] => return Err(strange(*second)),
        };
        if let Some(body) = body.filter(|body| body.kind() == "command") {
            let mut simple = self.simple(body, own.fed, depth)?;
            simple.words.extend(missed);
            for word in extra {
                let word = self.node_word(word, depth)?;
                simple.words.push(word);
            }
            simple.redirections.append(&mut own.redirections);
            return self.push(simple);
        }
        if let Some(extra) = extra.first() {
            return Err(strange(*extra));
        }
        if !missed.is_empty() {
            return Err(strange(node));
        }
        let fed = own.fed;
        self.push(own)?;
        match body {
            Some(body) => self.statement(body, fed, depth + 1),
            None => Ok(()),
        }
    }

    /// The parts of a command with redirections. The grammar passes over a lone `-` before a here-document; such words are
    /// given apart.
    fn redirected_parts(&mut self, node: Node<'a>, depth: usize) -> Result<(Vec<Node<'a>>, Vec<Word>), Unparsed> {
        let parts: Vec<Node<'a>> = node.children(&mut node.walk()).collect();
        let mut missed = Vec::new();
        let mut at = node.start_byte();
        for part in &parts {
            let gap = self.text.get(at..part.start_byte()).unwrap_or("?");
            if gap.trim() == "-" && part.kind() == "heredoc_redirect" && gap.starts_with(' ') && gap.ends_with(' ') {
                missed.push(self.word(at + gap.len() - gap.trim_start().len(), at + gap.trim_end().len(), depth)?);
            } else {
                blank(self.text, at, part.start_byte(), true)?;
            }
            at = part.end_byte();
        }
        blank(self.text, at, node.end_byte(), true)?;
        Ok((parts, missed))
    }

    /// Adds a redirection; gives the words that the grammar counted to it and bash counts to the command.
    pub(super) fn redirect(
        &mut self,
        node: Node<'a>,
        to: &mut Simple,
        depth: usize,
    ) -> Result<Vec<Node<'a>>, Unparsed> {
        self.visited.insert(node.id());
        if node.kind() == "heredoc_redirect" {
            return self.heredoc(node, to, depth);
        }
        let mut kind = None;
        let mut words = Vec::new();
        for part in self.parts(node, false)? {
            match part.kind() {
                "file_descriptor" => {}
                "<" => kind = Some(RedirectionKind::Read),
                ">" | ">>" | ">|" | "&>" | "&>>" => kind = Some(RedirectionKind::Write),
                ">&" | "<&" => kind = Some(RedirectionKind::Descriptor),
                "<<<" => kind = Some(RedirectionKind::Text),
                _ if part.is_named() => words.push(part),
                _ => return Err(strange(part)),
            }
        }
        let (Some(mut kind), Some((target, extra))) = (kind, words.split_first()) else { return Err(strange(node)) };
        // Words that touch are one word.
        if extra.first().is_some_and(|next| next.start_byte() == target.end_byte()) {
            return Err(strange(*target));
        }
        let target = self.node_word(*target, depth)?;
        let descriptor = |text: &str| text == "-" || text.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit());
        if kind == RedirectionKind::Descriptor && !target.literal().is_some_and(descriptor) {
            kind = RedirectionKind::Write;
        }
        to.fed |= matches!(kind, RedirectionKind::Read | RedirectionKind::Text);
        to.redirections.push(Redirection { kind, target });
        Ok(extra.to_vec())
    }

    fn heredoc(&mut self, node: Node<'a>, to: &mut Simple, depth: usize) -> Result<Vec<Node<'a>>, Unparsed> {
        let parts = self.parts(node, true)?;
        let find = |kind: &str| parts.iter().find(|part| part.kind() == kind).copied();
        let start = find("heredoc_start").ok_or_else(|| strange(node))?;
        let end = find("heredoc_end").ok_or_else(|| strange(node))?;
        let mut plain = |_: usize| Err(strange(start));
        let delimiter = word::read(self.text, start.start_byte(), start.end_byte(), &mut plain)?;
        let expands = !self.source(start).contains(['\'', '"', '\\']);
        let name = delimiter.literal().ok_or_else(|| strange(start))?;
        let extent = heredoc::extent(self.text, start.end_byte(), name, find("<<-").is_some(), expands)?;
        if self.begin(end) != extent.delimiter || end.end_byte() != extent.delimiter + name.len() {
            return Err(strange(end));
        }
        to.fed = true;
        to.redirections.push(Redirection { kind: RedirectionKind::Text, target: delimiter });
        let mut extra = Vec::new();
        for part in &parts {
            match part.kind() {
                "heredoc_body" | "heredoc_end" => continue,
                "<<" | "<<-" | "heredoc_start" | "file_descriptor" | "&&" | "||" | "|" | "|&" | ";" | "&" => {}
                "file_redirect" | "herestring_redirect" => extra.extend(self.redirect(*part, to, depth)?),
                "pipeline"
                | "command"
                | "list"
                | "redirected_statement"
                | "subshell"
                | "compound_statement"
                | "negated_command" => self.statement(*part, true, depth + 1)?,
                "word" | "string" | "raw_string" | "number" | "concatenation" | "simple_expansion" | "expansion" => {
                    extra.push(*part);
                }
                _ => return Err(strange(*part)),
            }
            if part.end_byte() > extent.line_end {
                return Err(strange(*part));
            }
        }
        if expands {
            word::read_body(self.text, extent.from, extent.to, &mut |at| self.substitution(at, depth + 1))?;
        }
        Ok(extra)
    }
}
