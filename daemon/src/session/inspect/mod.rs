//! What the model sees: the next request of a session, what a prompt would send, and everything that was sent, from what
//! is stored. Nothing here changes a session.

mod dry;
mod list;
mod next;
mod replay;
mod segments;
mod side;
mod value;

pub use value::{
    Ask, Break, Checked, Inspection, Kept, Listed, Of, RequestDetail, RequestPage, SegmentDetail, SideDetail,
    SideListed, SideTotal, Since, Total,
};

pub use crate::store::{LastSwitch, ProjectionStats};
