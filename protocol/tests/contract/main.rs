//! Contract tests: the committed schema, the typed client and the reference all say the same.

#[cfg(test)]
mod client;
#[cfg(test)]
mod complete;
#[cfg(test)]
mod recorder;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod typescript;
