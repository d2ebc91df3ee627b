//! What the built-in catalogue knows of a model: the one place that asks it.

use plimsoll_core::model::catalog::{Catalog, Price};

/// The catalogue's facts about a model.
pub struct Facts {
    /// Tokens of a request and its answer together.
    pub context_window: u64,
    /// Most tokens of an answer.
    pub max_output: u32,
    /// Seconds after which an unused prefix is no longer cached.
    pub cache_lifetime_s: u64,
    /// Whether it takes images.
    pub images: bool,
    /// Prices.
    pub price: Option<Price>,
}

/// The models of a well-known host that are known by their whole name, in the table's order.
pub fn names(provider: &str) -> impl Iterator<Item = &'static str> {
    let host = Catalog::builtin().provider(provider);
    let models = host.into_iter().flat_map(|host| host.models.iter());
    models.filter(|model| !model.family).map(|model| model.name.as_str())
}

/// The facts about the provider's model of this name; none when the catalogue does not have it.
pub fn facts(provider: &str, name: &str) -> Option<Facts> {
    let catalog = Catalog::builtin();
    let host = catalog.provider(provider)?;
    let model = catalog.model(provider, name)?;
    Some(Facts {
        context_window: model.context_window,
        max_output: model.max_output,
        cache_lifetime_s: model.cache_lifetime_s.unwrap_or(host.cache_lifetime_s),
        images: model.images.unwrap_or(host.images),
        price: model.price.clone(),
    })
}
