//! `[prompt]`: which texts models read.

use super::super::error::ConfigError;
use super::Located;
use super::table::Table;
use plimsoll_core::prompt::Bundle;

/// What one file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawPrompt {
    /// `bundle`, or `lean`, which says the same.
    pub bundle: Option<Located<Bundle>>,
    /// `base_prompt`: what takes the place of the identity sentence.
    pub base: Option<Located<String>>,
}

impl RawPrompt {
    pub(super) fn parse(mut table: Table<'_, '_>) -> Result<Self, ConfigError> {
        let bundle = table.parsed("bundle", |word| {
            let unknown = || (format!("there is no bundle `{word}`"), "Write \"lean\" or \"full\"".to_owned());
            Bundle::of_word(word).ok_or_else(unknown)
        })?;
        let lean = table.boolean("lean")?;
        let base = table.string("base_prompt")?;
        table.finish();
        let of_lean = |lean: bool| if lean { Bundle::Lean } else { Bundle::Full };
        let bundle = match (bundle, lean) {
            (Some(bundle), Some(lean)) if bundle.value != of_lean(lean.value) => {
                return Err(ConfigError {
                    place: lean.place,
                    problem: format!("is {} while prompt.bundle is \"{}\"", lean.value, bundle.value.word()),
                    fix: "Keep one of the two".to_owned(),
                });
            }
            (Some(bundle), _) => Some(bundle),
            (None, lean) => lean.map(|lean| Located { value: of_lean(lean.value), place: lean.place }),
        };
        Ok(Self { bundle, base })
    }
}

#[cfg(test)]
mod tests {
    use super::super::RawConfig;
    use super::*;
    use std::path::Path;

    #[test]
    fn the_bundle_has_two_spellings_that_must_agree() {
        let parsed = |text: &str| {
            let raw = RawConfig::parse(Path::new("f.toml"), &format!("[prompt]\n{text}\n"))
                .map_err(|error| error.to_string())?;
            Ok(raw.prompt.bundle.map(|bundle| bundle.value))
        };
        for (text, expected) in [
            ("", Ok(None)),
            ("bundle = \"full\"", Ok(Some(Bundle::Full))),
            ("lean = false", Ok(Some(Bundle::Full))),
            ("lean = true", Ok(Some(Bundle::Lean))),
            ("bundle = \"lean\"\nlean = true", Ok(Some(Bundle::Lean))),
            (
                "bundle = \"lean\"\nlean = false",
                Err("f.toml:3: `prompt.lean`: is false while prompt.bundle is \"lean\". Keep one of the two".to_owned()),
            ),
            (
                "bundle = \"long\"",
                Err("f.toml:2: `prompt.bundle`: there is no bundle `long`. Write \"lean\" or \"full\"".to_owned()),
            ),
        ] {
            assert_eq!(parsed(text), expected, "{text}");
        }
    }
}
