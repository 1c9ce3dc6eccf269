//! What the fuzz targets hold to: one function a target, which panics where a property is broken.

mod targets;

pub use targets::{canonical, did_key, envelope, frames, subject};
