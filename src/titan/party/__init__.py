"""One party as a process of its own: links to its neighbours, a journal, and no way to a wrong sum.

What is said, without a socket:

wire               what travels on a stream: hello, pieces of messages, acknowledgements; strict
messages           whole messages along a link: envelopes of a sum, and what is said around them
links              numbering, cutting, putting together, acknowledging: a link's state at either end
run                which run of which study, as whom, and how far
ready              what is due in it, and what the disk must have before it leaves
signed_broadcast   what each party tells all others, signed: its nonce, its digest of the sum
origin_signatures  signatures of the origins behind masked vectors, where relays pass them on
private_sums       its sums, one agent after the other: envelopes in, envelopes out
agreement          everybody's digest of the sums, compared: who is named, where they differ
session            a run as a state machine: messages in, messages out
worker             one thread beside the event loop, for what is made of rows
finished_run       in place of a session when the run is over: sends again what was kept
durable_session    a session with its journal and links; also when the run is over

Between processes, each file using those before it:

tls                one end of TLS 1.3 with pins: bytes in, bytes out
connection         TLS over TCP: chunks out and in, and who is not heard is gone
streams            dialling and listening: who is let in, and who is sent away
run_events         what happened, how links stand, who waits, and the error that ends the run
arrival_queue      whatever has arrived is handed over, many messages in one transaction
attendance         who has come and who will not, as neighbours tell each other
conversation       one open stream: messages one way, acknowledgements the other
connecting         from a link to an open stream: dialling, being dialled, hello, turning away
engine             all of a party's links, from the first dial until it leaves

A study, from rows to answer, on its own machine or with all parties on one:

preparing          from rows to the parts in all questions and the ledger's entries, in one pass
told_answer        the answer of the one who solves for all, compared with one's own
run_to_answer      one run, from the first connection until nobody needs it more
taking_part        what `titan join` does
loopback           a study whose parties are on the loopback interface, with keys to throw away
processes          several programs side by side, none left behind
rehearsal          all parties of a study as processes on one machine
views              what some of them saw of it
"""
