"""How far driven joints can go before their loops lock."""
