"""One party as a process of its own: links to its neighbours, a journal, and no way to a wrong sum.

What is said, without a socket:

wire               what travels on a stream: hello, pieces of messages, acknowledgements; strict
messages           whole messages along a link: envelopes of a sum, and what is said around them
links              numbering, cutting, putting together, acknowledging: a link's state at either end
signed_broadcast   what each party tells all others, signed: its nonce, its digest of the sum
origin_signatures  signatures of the origins behind masked vectors, where relays pass them on
run_progress       how far a run is, in words
ready              messages that are due, and what the disk must have before they leave
run                which run of which study it is, and as whom
private_sums       its sums, one agent after the other: envelopes in, envelopes out
session            a run as a state machine: messages in, messages out
durable_session    a session with its journal and links: written down before anything follows
finished_run       in place of a session when the run is over
handshake          the first words on a stream, and whether the other end is the one expected

Between processes, each file using those before it:

streams            gRPC under mutual TLS with pins, as far as a link needs it
link_status        one link as this process sees it: up or down, what was wrong last
run_events         what happened, who is told, who waits, and the error that ends the run
arrival_queue      whatever has arrived is handed over, many messages in one transaction
attendance         who has come and who will not, as neighbours tell each other
conversation       one open stream: messages one way, acknowledgements the other
connecting         from a link to an open stream: dialling, being dialled, hello, turning away
engine             all of a party's links, from the first dial until it leaves
absence            in place of an engine at a party that does not take part: it says so

A study, from rows to answer:

preparing          from rows to the parts in all questions and the ledger's entries, in one pass
run_to_answer      one run, from the first connection until nobody needs it more
taking_part        what `titan join` does
run_results        what a run left, for `titan.load`

All parties on one machine:

loopback           a study whose parties are on the loopback interface, with keys to throw away
processes          several programs side by side, none left behind
rehearsal          all parties of a study as processes on one machine
views              what some of them saw of it
"""
