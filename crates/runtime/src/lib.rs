//! Bowline: a durable, bounded, verified agent loop.
//!
//! An [`Engine`] takes tasks, runs them and survives being killed at any moment:
//!
//! ```text
//! input ─► core::decide ─► events ─► store (durable) ─► core::apply ─► core::due ─► effects
//! ```
//!
//! All policy lives in [`bowline_core`]; this crate performs effects and reports
//! what came of them. A function here that awaits holds no policy.

mod aside;
mod cast;
mod checks;
mod clerk;
mod clock;
mod desk;
mod engine;
mod error;
mod fold;
mod hands;
mod hub;
mod images;
mod judge;
mod landing;
mod promoting;
mod result;
mod servers;
mod texts;
mod undoing;

pub use bowline_core as core;
pub use bowline_mcp as mcp;
pub use bowline_models as models;
pub use bowline_remote as remote;
pub use bowline_store as store;
pub use bowline_tools as tools;

pub use clock::{Chance, Clock, SystemChance, SystemClock};
pub use desk::summary;
pub use engine::{
    ApplyPlan, Changed, Engine, EngineBuilder, ModelSource, Patience, Side, Stopped, UndoPlan, UndoStep,
    UndoWay, Undone, Worked,
};
pub use error::EngineError;
pub use fold::{Folded, fold, history};
pub use hub::{Observation, Seen};
pub use promoting::{NotTaken, Promote, Promotion};
pub use result::{Made, provenance};
pub use servers::agent_servers;
