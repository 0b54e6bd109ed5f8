//! Links of HTML pages for gregor: found, joined and hashed in one call, without the interpreter.
#![deny(unsafe_code)]

pub mod collect;
mod entities;
mod hash;
pub mod join;
#[cfg(feature = "python")]
mod python;
pub mod scan;
pub mod tags;
pub mod text;
pub mod tree;
