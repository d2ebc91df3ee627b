//! Tests of the store on temporary folders.
