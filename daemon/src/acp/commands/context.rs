//! An inspected request as a short text with a table.

use plimsoll_protocol::context::{InspectedOf, Inspection};
use std::fmt::Write as _;

/// The load, the layers, the cache and the cost.
pub fn text(inspection: &Inspection) -> String {
    let what = match inspection.of {
        InspectedOf::Next | InspectedOf::Other(_) => "The next request",
        InspectedOf::Last => "The request that was sent last",
    };
    if let Some(refused) = &inspection.refused {
        return format!("Nothing would be sent to `{}`. {refused}", inspection.model);
    }
    let window = &inspection.window;
    let lines: Vec<String> = window.lines.iter().map(|line| percent(*line)).collect();
    let mut text = format!(
        "{what} to `{}` has about {} tokens: a load of {} (lines at {}) in a window of {}.\n\n\
         | layer | tokens | of it |\n|---|---:|---:|\n",
        inspection.model,
        inspection.tokens,
        percent(window.load),
        lines.join(", "),
        window.tokens,
    );
    let all: u64 = inspection.layers.iter().map(|layer| layer.tokens).sum();
    for layer in inspection.layers.iter().filter(|layer| layer.bytes > 0) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {} | {} | {} |", layer.name, layer.tokens, share(layer.tokens, all));
    }
    let read: u64 = inspection.layers.iter().map(|layer| layer.cache_read).sum();
    let _ = write!(text, "\n{} of it is expected to be read from the cache", share(read, all));
    if let Some(cost) = inspection.cost {
        let _ = write!(text, "; its input costs about ${cost:.4}");
    }
    text.push_str(".\n");
    text
}

fn share(part: u64, all: u64) -> String {
    percent(if all == 0 { 0.0 } else { part as f64 / all as f64 })
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_protocol::context::{LayerInfo, Window};

    #[test]
    fn an_inspection_is_a_table_with_its_load() {
        let layer = |layer, name: &str, tokens, cache_read| LayerInfo {
            layer,
            name: name.into(),
            bytes: tokens * 4,
            tokens,
            cache_read,
            cache_write: 0,
            parts: Vec::new(),
        };
        let mut inspection = Inspection {
            session: "s".into(),
            of: InspectedOf::Next,
            request: None,
            model: "test/m".into(),
            refused: None,
            opens: None,
            bytes: 4_000,
            tokens: 1_000,
            window: Window {
                tokens: 20_000,
                output_reserve: 4_000,
                results_room: 3_000,
                load: 0.25,
                lines: vec![0.65, 0.82, 0.95],
            },
            layers: vec![layer(1, "tools", 750, 500), layer(2, "nothing", 0, 0), layer(7, "current turn", 250, 0)],
            shortened: None,
            since: None,
            cost: Some(0.0123),
            price_as_of: None,
        };
        assert_eq!(
            text(&inspection),
            "The next request to `test/m` has about 1000 tokens: a load of 25.0 % (lines at 65.0 %, 82.0 %, 95.0 %) in \
             a window of 20000.\n\n| layer | tokens | of it |\n|---|---:|---:|\n| tools | 750 | 75.0 % |\n\
             | current turn | 250 | 25.0 % |\n\n50.0 % of it is expected to be read from the cache; its input costs \
             about $0.0123.\n"
        );
        inspection.refused = Some("It is too large.".into());
        assert_eq!(text(&inspection), "Nothing would be sent to `test/m`. It is too large.");
    }
}
