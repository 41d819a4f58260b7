"""One party as a process of its own: links to its neighbours, a journal, and no way to a wrong sum.

What is said, without a socket:

wire          what travels on a stream: hello, pieces of messages, acknowledgements; strict
messages      whole messages along a link: envelopes of a sum, and what is said around the sums
links         numbering, cutting, putting together, acknowledging: one link's state at either end
gossip        what each party tells all others, signed: its nonce, its digest of the sum
vouching      signatures of the origins behind masked vectors, where relays only pass them on
standing      how far a run is, in words
session       a run as a state machine: messages in, messages out
desk          a session, its journal and its links: written down before anything follows from it
aftermath     what is left of a session when the run is over
greeting      the first words on a stream, and whether the other end is the one expected

Between processes, each file using those before it:

streams       gRPC under mutual TLS with pins, as far as a link needs it
line          one link as this process sees it: up or down, what was wrong last
news          what happened, who is told, who waits, and the error that ends the run
intake        whatever has arrived goes to the desk, many messages in one transaction
conversation  one open stream: messages one way, acknowledgements the other
connecting    from a link to an open stream: dialling, being dialled, hello, turning away
engine        all of a party's links, from the first dial until it leaves

A study, from rows to answer:

row_bytes     a row as bytes, the same however it was read
entry         what the ledger writes down about a study, from this party's rows
job           a study's sums and its answer
taking_part   what `titan join` does

All parties on one machine:

loopback      a study whose parties are on the loopback interface, with keys to throw away
processes     several programs side by side, none left behind
rehearsal     all parties of a study as processes on one machine
views         what some of them saw of it
"""
