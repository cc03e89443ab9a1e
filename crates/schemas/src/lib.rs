//! The contracts Bowline has with other programs, as JSON Schemas: made from the types, compared with the
//! set that was recorded with the last release.
//!
//! [`published`] makes the files of `schemas/`; [`compare`] finds what of an older schema no longer holds;
//! [`recorded`] puts both together. What never happens here: a schema written by hand where a type could
//! tell it, and a recorded set that is changed.

pub mod compare;
pub mod published;
pub mod recorded;
