//! Paths in a patch's heads.

/// The paths of a `---` and a `+++` line, none for `/dev/null`. `a/` and `b/` are taken off where the pair has both, or
/// one of them beside `/dev/null`.
pub(super) fn pair(old: &str, new: &str) -> (Option<String>, Option<String>) {
    let (old, new) = (one(old), one(new));
    let plain = |path: &Option<String>, prefix: &str| match path {
        None => None,
        Some(path) => path.strip_prefix(prefix).map(str::to_owned),
    };
    let (short_old, short_new) = (plain(&old, "a/"), plain(&new, "b/"));
    let prefixed = (old.is_none() || short_old.is_some()) && (new.is_none() || short_new.is_some());
    if prefixed { (short_old, short_new) } else { (old, new) }
}

fn one(head: &str) -> Option<String> {
    let path = match head.strip_prefix('"').and_then(|rest| rest.rsplit_once('"')) {
        Some((quoted, _)) => unquoted(quoted),
        // A time may follow, after a tabulator.
        None => head.split('\t').next().unwrap_or_default().trim_end().to_owned(),
    };
    (path != "/dev/null").then_some(path)
}

/// Git quotes what is not plain: `\t`, `\"`, `\\`, bytes as three octal digits.
fn unquoted(text: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'n') => out.push(b'\n'),
            Some(b't') => out.push(b'\t'),
            Some(b'r') => out.push(b'\r'),
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    if let Some(digit) = bytes.next_if(|byte| (b'0'..=b'7').contains(byte)) {
                        value = value * 8 + u32::from(digit - b'0');
                    }
                }
                out.push((value & 0xFF) as u8);
            }
            Some(other) => out.push(other),
            None => out.push(b'\\'),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_times_and_quotes_are_taken_off() {
        let check = |old: &str, new: &str, expected: (Option<&str>, Option<&str>)| {
            let (old, new) = pair(old, new);
            assert_eq!((old.as_deref(), new.as_deref()), expected);
        };
        check("a/src/x.rs", "b/src/x.rs", (Some("src/x.rs"), Some("src/x.rs")));
        check("a/x", "a/x", (Some("a/x"), Some("a/x")));
        check("/dev/null", "b/x", (None, Some("x")));
        check("/dev/null", "x", (None, Some("x")));
        check("a/x", "/dev/null", (Some("x"), None));
        check("x.c\t2020-01-01 00:00:00", "x.c\t2020-01-02", (Some("x.c"), Some("x.c")));
        check(r#""a/caf\303\251 \"x\"""#, r#""b/caf\303\251 \"x\"""#, (Some("café \"x\""), Some("café \"x\"")));
    }
}
