//! What the subscriptions of a namespace lead to: install plans, their steps, and how far they came.
