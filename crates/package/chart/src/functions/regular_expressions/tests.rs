use super::expression::Expression;
use super::*;
