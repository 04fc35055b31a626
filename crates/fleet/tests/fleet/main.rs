//! A fleet's windows in files and in stores: each is there once, whatever happens on the way, and
//! missing ones are reported.

#[path = "../../../keep/export/tests/clickhouse/fake.rs"]
#[allow(dead_code)] // It remembers what is kept here, too.
mod fake;
mod filing;
mod following;
mod fuzz;
mod growing;
#[path = "../../../keep/export/tests/clickhouse/made.rs"]
#[allow(dead_code)] // More is made there than is needed here.
mod made;
mod owner;
mod puts;
mod resent;
mod stand_in;
mod store;
