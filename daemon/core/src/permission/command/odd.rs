//! Characters that make a command read differently from what it does.

use super::Unparsed;

/// Refuses texts with control characters, with characters that cannot be seen, and with those that change the order of
/// reading.
pub fn check(text: &str) -> Result<(), Unparsed> {
    let odd = text.chars().find_map(|c| Some((c, kind(c)?)));
    match odd {
        Some((c, kind)) => Err(Unparsed(format!("it holds {kind} (U+{:04X})", u32::from(c)))),
        None => Ok(()),
    }
}

fn kind(c: char) -> Option<&'static str> {
    match c {
        '\n' | '\t' => None,
        c if c.is_control() => Some("a control character"),
        '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => {
            Some("a character that changes the order of reading")
        }
        '\u{00AD}'
        | '\u{034F}'
        | '\u{115F}'
        | '\u{1160}'
        | '\u{17B4}'
        | '\u{17B5}'
        | '\u{180B}'..='\u{180F}'
        | '\u{200B}'..='\u{200D}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206A}'..='\u{206F}'
        | '\u{3164}'
        | '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}'
        | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFFB}'
        | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}' => Some("an invisible character"),
        c if c != ' ' && c.is_whitespace() => Some("an unusual space"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_is(text: &str, expected: Option<&str>) {
        assert_eq!(check(text).err().map(|error| error.0).as_deref(), expected, "{text:?}");
    }

    #[test]
    fn what_deceives_the_eye_is_named() {
        check_is("ls -la\n\tpwd", None);
        check_is("echo caf\u{e9} \u{4f60}", None);
        check_is("ls\u{200B}", Some("it holds an invisible character (U+200B)"));
        check_is("ls \u{202E}mr", Some("it holds a character that changes the order of reading (U+202E)"));
        check_is("ls\u{a0}-la", Some("it holds an unusual space (U+00A0)"));
        check_is("ls\rrm x", Some("it holds a control character (U+000D)"));
        check_is("ls \u{1b}[8m", Some("it holds a control character (U+001B)"));
    }
}
