//! Messages of the generic netlink family TASKSTATS (Documentation/accounting/taskstats.rst):
//! requests and answers.

use super::record::Record;
use netlink_packet_core::{
    DefaultNla, Emitable, NetlinkBuffer, NetlinkMessage, NlaBuffer, NlasIterator, NLM_F_REQUEST,
};
use netlink_packet_generic::ctrl::{nlas::GenlCtrlAttrs, GenlCtrl, GenlCtrlCmd};
use netlink_packet_generic::{GenlFamily, GenlMessage};

/// Size of the generic netlink header: command, version, two unused bytes.
const GENERIC_HEADER: usize = 4;
/// NLMSG_ERROR of linux/netlink.h.
const ERROR: u16 = 2;
/// NLA_F_NESTED and NLA_F_NET_BYTEORDER are the upper bits.
const CMD_GET: u8 = 1;

// Attributes of TASKSTATS_CMD_GET.
const ATTR_PID: u16 = 1;
const ATTR_TGID: u16 = 2;
const ATTR_REGISTER_CPUMASK: u16 = 3;

// Attributes of an answer or an exit.
const TYPE_PID: u16 = 1;
const TYPE_TGID: u16 = 2;
const TYPE_STATS: u16 = 3;
const TYPE_AGGR_PID: u16 = 4;
const TYPE_AGGR_TGID: u16 = 5;

/// A request to the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// The record of one thread.
    Thread(u32),
    /// The sum over a process's threads.
    Process(u32),
    /// A record of every task that exits on this CPU, until the socket is closed.
    ExitsOn(u32),
}

#[derive(Clone, Debug)]
struct Command(Vec<DefaultNla>);

impl GenlFamily for Command {
    fn family_name() -> &'static str {
        "TASKSTATS"
    }

    fn command(&self) -> u8 {
        CMD_GET
    }

    fn version(&self) -> u8 {
        1
    }
}

impl Emitable for Command {
    fn buffer_len(&self) -> usize {
        self.0.as_slice().buffer_len()
    }

    fn emit(&self, buffer: &mut [u8]) {
        self.0.as_slice().emit(buffer);
    }
}

impl Ask {
    /// The bytes of the request.
    pub fn bytes(self, family: u16) -> Vec<u8> {
        let attribute = match self {
            Ask::Thread(tid) => DefaultNla::new(ATTR_PID, tid.to_ne_bytes().to_vec()),
            Ask::Process(tgid) => DefaultNla::new(ATTR_TGID, tgid.to_ne_bytes().to_vec()),
            // A list of CPUs in decimal, as a C string.
            Ask::ExitsOn(cpu) => {
                DefaultNla::new(ATTR_REGISTER_CPUMASK, format!("{cpu}\0").into_bytes())
            }
        };
        let mut message = GenlMessage::from_payload(Command(vec![attribute]));
        message.set_resolved_family_id(family);
        serialize(NetlinkMessage::from(message))
    }
}

/// The request for the family's number, which the kernel assigns at boot.
pub fn family_request() -> Vec<u8> {
    let nlas = vec![GenlCtrlAttrs::FamilyName(Command::family_name().into())];
    serialize(NetlinkMessage::from(GenlMessage::from_payload(GenlCtrl {
        cmd: GenlCtrlCmd::GetFamily,
        nlas,
    })))
}

fn serialize<I: netlink_packet_core::NetlinkSerializable>(
    mut message: NetlinkMessage<I>,
) -> Vec<u8> {
    message.header.flags = NLM_F_REQUEST;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    bytes
}

/// The family's number from an answer.
pub fn family_in(bytes: &[u8]) -> Result<u16, Answer> {
    const FAMILY_ID: u16 = 1;
    let message = NetlinkBuffer::new_checked(bytes).map_err(|_| Answer::Damaged)?;
    if message.message_type() == ERROR {
        return Err(refusal(message.payload()));
    }
    let attributes = message.payload().get(GENERIC_HEADER..).unwrap_or_default();
    let found = attribute(attributes, FAMILY_ID);
    found.and_then(|id| Some(u16::from_ne_bytes(id.try_into().ok()?))).ok_or(Answer::Damaged)
}

/// A message from the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A record, on request or of a task that exited.
    Records(Box<Records>),
    /// The kernel's errno for a request. ESRCH: the task does not exist. 0: success.
    Refused(i32),
    /// An invalid message.
    Damaged,
}

/// The content of one message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records {
    /// Number of an exit record on its CPU; a gap means lost records.
    pub sequence: u32,
    pub thread: Option<Record>,
    /// A process with the sum over its threads.
    pub process: Option<(u32, Record)>,
}

/// Parses one message.
pub fn answer(bytes: &[u8]) -> Answer {
    let Ok(message) = NetlinkBuffer::new_checked(bytes) else { return Answer::Damaged };
    if message.message_type() == ERROR {
        return refusal(message.payload());
    }
    let attributes = message.payload().get(GENERIC_HEADER..).unwrap_or_default();
    let thread = attribute(attributes, TYPE_AGGR_PID).map(|nest| pair(nest, TYPE_PID));
    let process = attribute(attributes, TYPE_AGGR_TGID).map(|nest| pair(nest, TYPE_TGID));
    let sequence = message.sequence_number();
    match (thread, process) {
        (None, None) | (Some(None), _) | (_, Some(None)) => Answer::Damaged,
        (thread, process) => Answer::Records(Box::new(Records {
            sequence,
            thread: thread.flatten().map(|(_, record)| record),
            process: process.flatten(),
        })),
    }
}

fn pair(nest: &[u8], id: u16) -> Option<(u32, Record)> {
    let id = u32::from_ne_bytes(attribute(nest, id)?.try_into().ok()?);
    Some((id, Record::parse(attribute(nest, TYPE_STATS)?).ok()?))
}

fn attribute(attributes: &[u8], kind: u16) -> Option<&[u8]> {
    let found = NlasIterator::new(attributes).flatten().find(|nla| nla.kind() == kind)?;
    let length = found.value_length();
    // The buffer's own lifetime is longer than that of the iterator's item.
    let at = NlaBuffer::into_inner(found);
    at.get(4..4 + length)
}

/// The errno of an NLMSG_ERROR; the kernel sends it as a negative number.
fn refusal(payload: &[u8]) -> Answer {
    let bytes = payload.get(..4).and_then(|bytes| bytes.try_into().ok());
    let errno = bytes.and_then(|bytes| i32::from_ne_bytes(bytes).checked_neg());
    errno.map_or(Answer::Damaged, Answer::Refused)
}
