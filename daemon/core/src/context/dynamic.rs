//! Layer 3: the dynamic system text, made once at an epoch's start.

use super::{memories, project_layout, skills, user_info};
use crate::prompt::{self, Prompts};
use crate::workspace::Environment;

/// The whole block of system text, for a model with this window. `language` is the configured one; without it the user's
/// locale decides.
pub fn render(
    environment: &Environment,
    language: Option<&str>,
    layout_budget: u64,
    window: u64,
    prompts: &Prompts,
) -> String {
    let mut parts = vec![prompts.text(&prompt::FRAME).to_owned()];
    if let Some(language) = language.or(environment.user_info.language.as_deref()) {
        let language = super::cut::one_line(language).replace('`', "");
        parts.push(prompts.render(&prompt::LANGUAGE, &[("language", &language)]));
    }
    parts.push(user_info::render(&environment.user_info, prompts));
    parts.push(project_layout::render(&environment.layout, layout_budget, prompts));
    parts.extend(memories::render(&environment.memories, window, prompts));
    parts.extend(skills::render(&environment.skills, window, prompts));
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::UserInfo;

    #[test]
    fn the_frame_comes_first_and_the_language_only_when_known() {
        let mut environment = Environment { user_info: UserInfo::default(), ..Environment::default() };
        let silent = render(&environment, None, 800, 100_000, &Prompts::default());
        assert!(silent.starts_with("The user's instruction stands in `<user_query>`."), "{silent}");
        assert!(!silent.contains("# Language"));
        environment.user_info.language = Some("de".to_owned());
        assert!(
            render(&environment, None, 800, 100_000, &Prompts::default())
                .contains("# Language\n\nAnswer in the language `de`")
        );
        assert!(
            render(&environment, Some("fr"), 800, 100_000, &Prompts::default()).contains("Answer in the language `fr`")
        );
    }
}
