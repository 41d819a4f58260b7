"""One party as a process of its own: links to its neighbours, a journal, and no way to a wrong sum.

wire       what travels on a stream: hello, pieces of messages, acknowledgements; strict
messages   whole messages along a link: envelopes of a sum, and what is said around the sums
links      numbering, cutting, putting together, acknowledging: one link's state at either end
gossip     what each party tells all others, signed: its nonce, its digest of the sum
session    a run as a state machine: messages in, messages out
engine     gRPC streams around a session, its journal in between
entry      what the ledger writes down about a study, from this party's rows
rehearsal  all parties of a study as processes on one machine
views      what some of them saw of it
"""
