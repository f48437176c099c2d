"""What tests share: a clock that is told the time, factories, identities, an application."""
