//! Which elements of two lists belong together.

/// What becomes of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edit {
    /// It is in both lists.
    Same,
    /// It is only in the first.
    Removed,
    /// It is only in the second.
    Inserted,
    /// It is in both and has changed.
    Modified,
}

/// How alike two elements are: how many of their leaves are equal, and how many aren't.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Likeness {
    /// Leaves that are equal.
    pub(crate) same: usize,
    /// Leaves that differ.
    pub(crate) different: usize,
}

impl Likeness {
    /// Returns the likeness of what is either equal or has nothing in common.
    pub(crate) fn of(equal: bool) -> Likeness {
        if equal {
            Likeness {
                same: 1,
                different: 0,
            }
        } else {
            Likeness {
                same: 0,
                different: 2,
            }
        }
    }

    fn is_equal(self) -> bool {
        self.different == 0
    }

    fn is_similar(self) -> bool {
        self.same + 1 >= self.different
    }
}

/// How many failed comparisons are allowed for each element: the search is greedy, not exhaustive.
const BUDGET_PER_ELEMENT: usize = 4;

/// Compares two lists from both ends, each end looking for the next equal pair along diagonals.
struct Search<F> {
    likeness: F,
    front: Vec<Edit>,
    back: Vec<Edit>,
    /// How far the front has come, and the back, in either list.
    front_at: (usize, usize),
    back_at: (usize, usize),
    budget: usize,
}

/// Returns what becomes of each element of two lists with these lengths.
pub(crate) fn edit_script(old: usize, new: usize, likeness: impl Fn(usize, usize) -> Likeness) -> Vec<Edit> {
    let mut search = Search {
        likeness,
        front: Vec::new(),
        back: Vec::new(),
        front_at: (0, 0),
        back_at: (old, new),
        budget: BUDGET_PER_ELEMENT * (old + new),
    };
    let mut front_edge = search.front_at;
    let mut back_edge = search.back_at;
    let mut forward = true;
    while front_edge.0 < back_edge.0 && front_edge.1 < back_edge.1 && search.budget > 0 {
        if forward {
            front_edge = search.forward(front_edge);
        } else {
            back_edge = search.backward(back_edge);
        }
        forward = !forward;
    }
    search.finish()
}

impl<F: Fn(usize, usize) -> Likeness> Search<F> {
    fn forward(&mut self, mut edge: (usize, usize)) -> (usize, usize) {
        let (mut stop_one, mut stop_other) = (false, false);
        for step in 0.. {
            if (stop_one && stop_other) || self.budget == 0 {
                break;
            }
            let offset = zigzag(step);
            let (x, y) = (shifted(edge.0, offset), shifted(edge.1, -offset));
            if x.is_some_and(|x| x >= self.back_at.0) || y.is_none_or(|y| y < self.front_at.1) {
                stop_one = true;
            } else if y.is_some_and(|y| y >= self.back_at.1) || x.is_none_or(|x| x < self.front_at.0) {
                stop_other = true;
            } else if let (Some(x), Some(y)) = (x, y)
                && (self.likeness)(x, y).is_equal()
            {
                self.connect_front((x, y));
                self.push_front(Edit::Same);
                while self.front_at.0 < self.back_at.0
                    && self.front_at.1 < self.back_at.1
                    && (self.likeness)(self.front_at.0, self.front_at.1).is_equal()
                {
                    self.push_front(Edit::Same);
                }
                edge = self.front_at;
                (stop_one, stop_other) = (true, true);
            } else {
                self.budget -= 1;
            }
        }
        let rest = |back: usize, edge: usize| back.cast_signed() - edge.cast_signed();
        if rest(self.back_at.0, edge.0) >= rest(self.back_at.1, edge.1) {
            edge.0 += 1;
        } else {
            edge.1 += 1;
        }
        edge
    }

    fn backward(&mut self, mut edge: (usize, usize)) -> (usize, usize) {
        let (mut stop_one, mut stop_other) = (false, false);
        for step in 0.. {
            if (stop_one && stop_other) || self.budget == 0 {
                break;
            }
            let offset = zigzag(step);
            let (x, y) = (shifted(edge.0, -offset), shifted(edge.1, offset));
            if x.is_none_or(|x| self.front_at.0 >= x) || y.is_some_and(|y| self.back_at.1 < y) {
                stop_one = true;
            } else if y.is_none_or(|y| self.front_at.1 >= y) || x.is_some_and(|x| self.back_at.0 < x) {
                stop_other = true;
            } else if let (Some(x), Some(y)) = (x, y)
                && (self.likeness)(x - 1, y - 1).is_equal()
            {
                self.connect_back((x, y));
                self.push_back(Edit::Same);
                while self.front_at.0 < self.back_at.0
                    && self.front_at.1 < self.back_at.1
                    && (self.likeness)(self.back_at.0 - 1, self.back_at.1 - 1).is_equal()
                {
                    self.push_back(Edit::Same);
                }
                edge = self.back_at;
                (stop_one, stop_other) = (true, true);
            } else {
                self.budget -= 1;
            }
        }
        let rest = |edge: usize, front: usize| edge.cast_signed() - front.cast_signed();
        if rest(edge.0, self.front_at.0) >= rest(edge.1, self.front_at.1) {
            edge.0 = edge.0.saturating_sub(1);
        } else {
            edge.1 = edge.1.saturating_sub(1);
        }
        edge
    }

    fn connect_front(&mut self, to: (usize, usize)) {
        while to.0 > self.front_at.0 && to.1 > self.front_at.1 {
            let likeness = (self.likeness)(self.front_at.0, self.front_at.1);
            self.push_front(if likeness.is_equal() {
                Edit::Same
            } else if likeness.is_similar() {
                Edit::Modified
            } else if to.0 - self.front_at.0 >= to.1 - self.front_at.1 {
                Edit::Removed
            } else {
                Edit::Inserted
            });
        }
        while to.0 > self.front_at.0 {
            self.push_front(Edit::Removed);
        }
        while to.1 > self.front_at.1 {
            self.push_front(Edit::Inserted);
        }
    }

    fn connect_back(&mut self, to: (usize, usize)) {
        while self.back_at.0 > to.0 && self.back_at.1 > to.1 {
            let likeness = (self.likeness)(self.back_at.0 - 1, self.back_at.1 - 1);
            self.push_back(if likeness.is_equal() {
                Edit::Same
            } else if likeness.is_similar() {
                Edit::Modified
            } else if self.back_at.1 - to.1 >= self.back_at.0 - to.0 {
                Edit::Inserted
            } else {
                Edit::Removed
            });
        }
        while self.back_at.0 > to.0 {
            self.push_back(Edit::Removed);
        }
        while self.back_at.1 > to.1 {
            self.push_back(Edit::Inserted);
        }
    }

    fn push_front(&mut self, edit: Edit) {
        self.front.push(edit);
        self.front_at.0 += usize::from(edit != Edit::Inserted);
        self.front_at.1 += usize::from(edit != Edit::Removed);
    }

    fn push_back(&mut self, edit: Edit) {
        self.back.push(edit);
        // The callers have compared with what is before, so there is something before.
        self.back_at.0 -= usize::from(edit != Edit::Inserted);
        self.back_at.1 -= usize::from(edit != Edit::Removed);
    }

    fn finish(mut self) -> Vec<Edit> {
        self.connect_front(self.back_at);
        self.front.extend(self.back.iter().rev());
        self.front
    }
}

/// Returns 0, -1, 1, -2, 2 and so on.
fn zigzag(step: isize) -> isize {
    if step & 1 == 0 { step >> 1 } else { !step >> 1 }
}

fn shifted(position: usize, by: isize) -> Option<usize> {
    position.checked_add_signed(by)
}
