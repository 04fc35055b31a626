//! What is generated of an object: a builder that opens it, the open object, and the loaded one.

use libbpf_rs::skel::{OpenSkel, SkelBuilder};

/// A builder of skeletons that can be loaded in any thread, as all that are generated can.
pub trait Builder: SkelBuilder<'static, Output: OpenSkel<'static, Output: Send>> + Default {}

impl<B> Builder for B where
    B: SkelBuilder<'static, Output: OpenSkel<'static, Output: Send>> + Default
{
}

/// An object that a builder of skeletons opens.
pub type Open<B> = <B as SkelBuilder<'static>>::Output;
/// The same in the kernel.
pub type Loaded<B> = <Open<B> as OpenSkel<'static>>::Output;
