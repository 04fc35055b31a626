//! Answers requests.

use crate::door::{Door, RequestHeaders};
use crate::hub::{event, Hub, Windows};
use crate::looks::{Look, Looks};
use http_body_util::Full;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{HeaderName, HeaderValue, ALLOW, CONTENT_TYPE, HOST, ORIGIN};
use hyper::{Method, Request, Response, StatusCode};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Security headers of every answer.
const STRICT: [(&str, &str); 6] = [
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
];

/// Body of an answer: a whole text, or windows as they come.
pub(crate) enum ResponseBody {
    Whole(Full<Bytes>),
    Windows(Windows),
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            ResponseBody::Whole(whole) => Pin::new(whole).poll_frame(context),
            ResponseBody::Windows(windows) => windows
                .events
                .poll_recv(context)
                .map(|event| event.map(|event| Ok(Frame::data(event)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ResponseBody::Whole(whole) => whole.is_end_stream(),
            ResponseBody::Windows(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ResponseBody::Whole(whole) => whole.size_hint(),
            ResponseBody::Windows(_) => SizeHint::default(),
        }
    }
}

/// Content of the answers.
pub(crate) struct Desk {
    pub door: Door,
    pub page: Bytes,
    pub policy: HeaderValue,
    /// Windows as they come, on a live page.
    pub hub: Option<Arc<Hub>>,
    /// Pages that look at processes, if programs are attached for them.
    pub looks: Option<Arc<Looks>>,
}

impl Desk {
    pub fn answer(&self, request: &Request<Incoming>) -> Response<ResponseBody> {
        let mut answer = self.choose(request);
        let headers = answer.headers_mut();
        for (name, value) in STRICT {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers.insert(HeaderName::from_static("content-security-policy"), self.policy.clone());
        answer
    }

    fn choose(&self, request: &Request<Incoming>) -> Response<ResponseBody> {
        let one = |name: HeaderName| {
            let mut values = request.headers().get_all(name).into_iter();
            let first = values.next().and_then(|value| value.to_str().ok());
            // A header with two values is ambiguous.
            first.filter(|_| values.next().is_none())
        };
        let said = RequestHeaders {
            host: one(HOST),
            query: request.uri().query(),
            site: one(HeaderName::from_static("sec-fetch-site")),
            origin: one(ORIGIN),
        };
        // A second value of Origin makes it ambiguous.
        if request.headers().contains_key(ORIGIN) && said.origin.is_none() {
            return words(StatusCode::FORBIDDEN, "the header Origin is unreadable: send it once\n");
        }
        if let Err(why) = self.door.opens(&said) {
            return words(StatusCode::FORBIDDEN, why);
        }
        if request.method() != Method::GET {
            let mut answer = words(StatusCode::METHOD_NOT_ALLOWED, "only GET\n");
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
            return answer;
        }
        match (request.uri().path(), &self.hub) {
            ("/", _) => {
                response("text/html; charset=utf-8", ResponseBody::Whole(self.page.clone().into()))
            }
            ("/events", Some(_)) if !self.door.is_own_page(&said) => {
                words(StatusCode::FORBIDDEN, "only the page itself may read windows\n")
            }
            ("/events", Some(hub)) => match hub.join(self.key()) {
                Some(windows) => response("text/event-stream", ResponseBody::Windows(windows)),
                None => words(StatusCode::SERVICE_UNAVAILABLE, "too many readers: close a page\n"),
            },
            ("/look", Some(_)) => self.look(&said),
            _ => words(StatusCode::NOT_FOUND, "not found: the page is at /\n"),
        }
    }
}

impl Desk {
    /// The key that a page must send before programs are attached for it.
    fn key(&self) -> Option<Bytes> {
        let key = self.looks.as_ref()?.key();
        Some(event("looks", &format!("{{\"key\":\"{key}\"}}")))
    }

    /// Streams what programs report on a process while a page looks at it.
    fn look(&self, said: &RequestHeaders) -> Response<ResponseBody> {
        let Some(looks) = &self.looks else {
            return words(StatusCode::NOT_FOUND, "no programs are attached here\n");
        };
        if !self.door.may_look(said, looks.key()) {
            return words(StatusCode::FORBIDDEN, "only the page itself may look at processes\n");
        }
        let pid = said.word("pid").and_then(|pid| pid.parse().ok());
        let Some(pid) = pid.filter(|&pid: &u32| pid > 0 && pid <= i32::MAX as u32) else {
            return words(StatusCode::BAD_REQUEST, "which process? pid=PID\n");
        };
        match looks.join(Look { pid, calls: said.word("calls") == Some("1") }) {
            Some(windows) => response("text/event-stream", ResponseBody::Windows(windows)),
            None => {
                let why = "too many pages look at processes: close one\n";
                words(StatusCode::SERVICE_UNAVAILABLE, why)
            }
        }
    }
}

fn response(what: &'static str, sent: ResponseBody) -> Response<ResponseBody> {
    let mut answer = Response::new(sent);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(what));
    answer
}

fn words(status: StatusCode, words: &'static str) -> Response<ResponseBody> {
    let whole = ResponseBody::Whole(Full::new(Bytes::from_static(words.as_bytes())));
    let mut answer = response("text/plain; charset=utf-8", whole);
    *answer.status_mut() = status;
    answer
}
