"""Sites and their slots: the coordinator of paper 004. One site's way:

    sites-found                                     stage.py        records in order: sites that homes met, what people decided
      -> is it spelt as ours are                    names.py        what is not becomes a verdict
      -> is it new                                  registry.py     one check of the uniqueness engine for a whole batch
      -> its rank and its slot                      assignment.py   functions of state and records alone
      -> what it waits for                          life.py         approval, an address, nothing
      -> its address, if it needs one               resolutions.py  asked by name_lookup.py, which never holds up the stage
      -> at the checkpoint, in one commit           announce.py     its row, its grant, its pointer, its root page
                                                    deltas.py       the state's changes

What is committed together is drawn in docs/protocol.md. Tools read the registry through inspect.py.
"""
