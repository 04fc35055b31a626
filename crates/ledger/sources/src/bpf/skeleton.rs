//! Traits of the generated code of an object: the builder, the open object and the loaded object.

use libbpf_rs::skel::{OpenSkel, SkelBuilder};

/// A skeleton builder whose object can be loaded in any thread, as all generated ones can.
pub trait Builder: SkelBuilder<'static, Output: OpenSkel<'static, Output: Send>> + Default {}

impl<B> Builder for B where
    B: SkelBuilder<'static, Output: OpenSkel<'static, Output: Send>> + Default
{
}

/// An open object.
pub type Open<B> = <B as SkelBuilder<'static>>::Output;
/// A loaded object.
pub type Loaded<B> = <Open<B> as OpenSkel<'static>>::Output;
