//! The pattern of a search: checked, explained when it is wrong, made to fit both kinds of line ends.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ast::{self, Ast, Visitor};

/// A line feed in a pattern matches a line end of either kind.
const LINE_END: &str = r"(?:\r?\n)";

/// The matcher for a pattern. The error is text for the model: where the pattern is wrong, and how to search for it as
/// it is.
pub fn compile(pattern: &str, literal: bool, case_insensitive: bool, multiline: bool) -> Result<RegexMatcher, String> {
    if pattern.is_empty() {
        return Err("`pattern` is empty: it would match every line. Read a file with read_file.".to_owned());
    }
    let regex = if literal { regex_syntax::escape(pattern) } else { pattern.to_owned() };
    let tree = ast::parse::Parser::new().parse(&regex).map_err(|error| invalid(pattern, &error.to_string()))?;
    let line_ends = line_ends(&tree);
    if !line_ends.is_empty() && !multiline {
        return Err("The pattern spans lines (it holds a line feed), but each line is searched by itself: \
                    set \"multiline\": true."
            .to_owned());
    }
    let mut builder = RegexMatcherBuilder::new();
    // `^` and `$` mean lines, as they do when lines are searched one by one; both see a carriage return as part of the
    // line end.
    builder.case_insensitive(case_insensitive).multi_line(true).crlf(true);
    if multiline {
        // A terminator would be banned from the pattern.
        builder.line_terminator(None);
    }
    builder.build(&either_line_end(&regex, &line_ends)).map_err(|error| invalid(pattern, &error.to_string()))
}

fn invalid(pattern: &str, problem: &str) -> String {
    format!(
        "The pattern is not a valid regular expression. {}\nTo search for it as plain text set \"literal\": true, or \
         escape it: {}",
        problem.trim_end(),
        regex_syntax::escape(pattern)
    )
}

/// Byte ranges of the line feeds that stand in a pattern by themselves, not in a class.
fn line_ends(tree: &Ast) -> Vec<(usize, usize)> {
    struct Finder(Vec<(usize, usize)>);
    impl Visitor for Finder {
        type Output = Vec<(usize, usize)>;
        type Err = ();
        fn finish(self) -> Result<Self::Output, ()> {
            Ok(self.0)
        }
        fn visit_pre(&mut self, node: &Ast) -> Result<(), ()> {
            if let Ast::Literal(literal) = node
                && literal.c == '\n'
            {
                self.0.push((literal.span.start.offset, literal.span.end.offset));
            }
            Ok(())
        }
    }
    ast::visit(tree, Finder(Vec::new())).unwrap_or_default()
}

fn either_line_end(regex: &str, line_ends: &[(usize, usize)]) -> String {
    let mut out = String::with_capacity(regex.len() + LINE_END.len() * line_ends.len());
    let mut copied = 0;
    for (start, end) in line_ends {
        let before = regex.get(copied..*start).unwrap_or_default();
        // `\r\n` as written needs no second carriage return, and a written one must still match.
        out.push_str(before);
        out.push_str(if before.ends_with(r"\r") || before.ends_with('\r') { r"\n" } else { LINE_END });
        copied = *end;
    }
    out.push_str(regex.get(copied..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(regex: &str, expected: &str) {
        let tree = ast::parse::Parser::new().parse(regex).unwrap();
        assert_eq!(either_line_end(regex, &line_ends(&tree)), expected);
    }

    #[test]
    fn line_feeds_outside_classes_match_both_line_ends() {
        check(r"fn a\(\)\n\{", r"fn a\(\)(?:\r?\n)\{");
        check("a\nb", r"a(?:\r?\n)b");
        check(r"[^\n]*\n+", r"[^\n]*(?:\r?\n)+");
        check(r"a\r\nb", r"a\r\nb");
        check(r"a\\nb", r"a\\nb");
        check(r"\x0Ab", r"(?:\r?\n)b");
    }

    #[test]
    fn a_wrong_pattern_is_explained_with_its_place() {
        assert_eq!(
            compile("foo(", false, false, false).unwrap_err(),
            "The pattern is not a valid regular expression. regex parse error:\n    foo(\n       ^\nerror: unclosed group\n\
             To search for it as plain text set \"literal\": true, or escape it: foo\\("
        );
        assert!(compile("a\\nb", false, false, false).unwrap_err().contains("\"multiline\": true"));
        assert!(compile("a\nb", true, false, false).unwrap_err().contains("\"multiline\": true"));
        assert!(compile("", false, false, false).is_err());
        for fine in ["foo(", r"foo\(", "(", "[", r"\"] {
            assert!(compile(fine, true, false, false).is_ok(), "{fine}");
        }
    }
}
