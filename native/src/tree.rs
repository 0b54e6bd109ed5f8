//! Which elements are open, by the rules by which a browser builds its tree: without the tree, and as far as they decide what a tag means.
//!
//! What is left out because it hides no element: what formatting is opened again behind a block (it doubles links, and is counted once
//! here), and where in a table an element is put. No walk over open elements is longer than `WALK`, so that time is linear in the page.

use crate::tags::{self, *};

/// Open elements that a rule looks at, at most.
const WALK: usize = 1024;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Space {
    Html,
    Svg,
    Math,
}

/// A tag's name: the element that rules know it as, and a hash by which the others differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Name {
    pub tag: Tag,
    pub hash: u32,
}

#[derive(Clone, Copy)]
struct Open {
    name: Name,
    space: Space,
    /// HTML may stand in it, though it is part of a drawing or formula.
    holds_html: bool,
}

impl Open {
    fn is_html(self, tag: Tag) -> bool {
        self.space == Space::Html && self.name.tag == tag
    }

    fn special(self) -> bool {
        match self.space {
            Space::Html => tags::is(self.name.tag, SPECIAL),
            Space::Svg => matches!(self.name.tag, FOREIGNOBJECT | DESC | TITLE),
            Space::Math => matches!(self.name.tag, MI | MO | MN | MS | MTEXT | ANNOTATION_XML),
        }
    }

    fn ends_scope(self) -> bool {
        if self.space == Space::Html { tags::is(self.name.tag, SCOPE) } else { self.special() }
    }
}

/// What a start tag is to the page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Nothing: no element begins.
    Ignored,
    /// An element of HTML.
    Html,
    /// An element of a drawing or formula.
    Foreign,
}

/// What of its attributes decides what a tag means.
#[derive(Clone, Copy, Default)]
pub struct Said {
    pub self_closing: bool,
    /// A `<font>` with color, face or size.
    pub styled_font: bool,
    /// An `<annotation-xml>` whose encoding is HTML.
    pub html_annotation: bool,
    /// An `<input type=hidden>`.
    pub hidden: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Head,
    AfterHead,
    Body,
    Frameset,
    AfterFrameset,
}

/// What a frameset does to a page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Event {
    None,
    BodyBegan,
    BodyDropped,
}

pub struct Tree {
    open: Vec<Open>,
    /// Where in `open` tables, their parts and templates are.
    contexts: Vec<u32>,
    templates: u32,
    /// Elements of drawings and formulas among the open ones.
    foreign: u32,
    counts: [u32; COUNT],
    phase: Phase,
    may_become_frameset: bool,
    framesets: u32,
    form_open: bool,
    pub event: Event,
}

impl Default for Tree {
    fn default() -> Self {
        Tree {
            open: Vec::with_capacity(64),
            contexts: Vec::with_capacity(16),
            templates: 0,
            foreign: 0,
            counts: [0; COUNT],
            phase: Phase::Head,
            may_become_frameset: true,
            framesets: 0,
            form_open: false,
            event: Event::None,
        }
    }
}

impl Tree {
    /// Whether what stands here is part of a template, and so not of the page.
    #[inline]
    pub fn in_template(&self) -> bool {
        self.templates > 0
    }

    /// Whether the innermost open element is one of a drawing or formula.
    #[inline]
    pub fn in_foreign(&self) -> bool {
        self.foreign > 0 && self.open.last().is_some_and(|top| top.space != Space::Html)
    }

    /// Whether text still decides something.
    #[inline]
    pub fn minds_text(&self) -> bool {
        self.may_become_frameset && self.phase != Phase::Frameset && self.phase != Phase::AfterFrameset
    }

    /// Text that is more than blanks.
    pub fn text(&mut self) {
        if self.templates == 0 && matches!(self.phase, Phase::Head | Phase::AfterHead) {
            self.begin_body();
        }
        self.may_become_frameset = false;
    }

    /// A start tag.
    pub fn start(&mut self, name: Name, said: Said) -> Meaning {
        if self.in_foreign()
            && let Some(meaning) = self.start_foreign(name, said)
        {
            return meaning;
        }
        if self.phase != Phase::Body && self.templates == 0 {
            if matches!(self.phase, Phase::Frameset | Phase::AfterFrameset) {
                return self.start_in_frameset(name.tag);
            }
            if let Some(meaning) = self.start_before_body(name.tag) {
                return meaning;
            }
        }
        self.start_html(name, said)
    }

    /// An end tag.
    pub fn end(&mut self, name: Name) {
        if self.in_foreign() && self.end_foreign(name) {
            return;
        }
        match self.phase {
            Phase::Frameset if name.tag == FRAMESET => {
                self.framesets = self.framesets.saturating_sub(1);
                if self.framesets == 0 {
                    self.phase = Phase::AfterFrameset;
                }
            }
            Phase::Frameset | Phase::AfterFrameset => {}
            Phase::Head | Phase::AfterHead if self.templates == 0 => match name.tag {
                HEAD => self.phase = Phase::AfterHead,
                BODY | HTML | BR => {
                    self.begin_body();
                    self.end_html(name);
                }
                _ => {}
            },
            _ => self.end_html(name),
        }
    }

    fn begin_body(&mut self) {
        self.phase = Phase::Body;
        self.event = Event::BodyBegan;
    }

    /// None: a body begins with it.
    fn start_before_body(&mut self, tag: Tag) -> Option<Meaning> {
        match tag {
            HTML | HEAD => return Some(Meaning::Ignored),
            FRAMESET => {
                self.phase = Phase::Frameset;
                self.framesets = 1;
                return Some(Meaning::Ignored);
            }
            NOSCRIPT if self.phase == Phase::Head => return Some(Meaning::Ignored),
            NOSCRIPT | TEMPLATE => {}
            _ if tags::is(tag, OF_HEAD) => return Some(Meaning::Html),
            _ => {}
        }
        if tag != TEMPLATE {
            self.begin_body();
        }
        None
    }

    fn start_in_frameset(&mut self, tag: Tag) -> Meaning {
        match tag {
            NOFRAMES => Meaning::Html,
            FRAME if self.phase == Phase::Frameset => Meaning::Html,
            FRAMESET if self.phase == Phase::Frameset => {
                self.framesets += 1;
                Meaning::Ignored
            }
            _ => Meaning::Ignored,
        }
    }

    /// None: it is to be read as HTML after all.
    fn start_foreign(&mut self, name: Name, said: Said) -> Option<Meaning> {
        let top = *self.open.last()?;
        let keeps_formula =
            matches!(name.tag, MGLYPH | MALIGNMARK) && matches!(top.name.tag, MI | MO | MN | MS | MTEXT);
        if top.holds_html && !(top.space == Space::Math && keeps_formula) {
            return None;
        }
        if top.space == Space::Math && top.name.tag == ANNOTATION_XML && name.tag == SVG {
            return None;
        }
        if tags::is(name.tag, LEAVES_FOREIGN) || (name.tag == FONT && said.styled_font) {
            self.leave_foreign();
            return None;
        }
        if !said.self_closing {
            self.push_foreign(name, top.space, said);
        }
        Some(Meaning::Foreign)
    }

    fn push_foreign(&mut self, name: Name, space: Space, said: Said) {
        let holds_html = match space {
            Space::Svg => matches!(name.tag, FOREIGNOBJECT | DESC | TITLE),
            _ => matches!(name.tag, MI | MO | MN | MS | MTEXT) || (name.tag == ANNOTATION_XML && said.html_annotation),
        };
        self.foreign += 1;
        self.open.push(Open { name, space, holds_html });
    }

    fn leave_foreign(&mut self) {
        while let Some(top) = self.open.last() {
            if top.space == Space::Html || top.holds_html {
                break;
            }
            self.pop();
        }
    }

    /// False: the end tag is for HTML around the drawing.
    fn end_foreign(&mut self, name: Name) -> bool {
        if matches!(name.tag, P | BR) {
            self.leave_foreign();
            return false;
        }
        for at in self.recent() {
            if self.open[at].space == Space::Html {
                return false;
            }
            if self.open[at].name == name {
                self.cut(at);
                return true;
            }
        }
        // Beyond what is looked at, or a drawing with nothing around it.
        self.open.len() > WALK
    }

    fn start_html(&mut self, name: Name, said: Said) -> Meaning {
        let tag = name.tag;
        if tag == OTHER || tag == SPAN {
            self.push(name);
            return Meaning::Html;
        }
        if tags::is(tag, SHOWN) {
            self.may_become_frameset = false;
        }
        match tag {
            HTML | HEAD | BODY | FRAME => return Meaning::Ignored,
            FRAMESET => {
                if self.may_become_frameset && self.phase == Phase::Body && self.templates == 0 {
                    self.cut(0);
                    self.phase = Phase::Frameset;
                    self.framesets = 1;
                    self.event = Event::BodyDropped;
                }
                return Meaning::Ignored;
            }
            _ if tags::is(tag, TABULAR) => return self.start_in_table(name),
            _ => {}
        }
        if matches!(self.context(), COLGROUP) && tag != TEMPLATE {
            self.pop();
        }
        if tags::is(tag, RAW) {
            if tags::is(tag, ENDS_P) {
                self.end_p();
            }
            return Meaning::Html;
        }
        if tag == TABLE && matches!(self.context(), TABLE | TBODY | TFOOT | THEAD | TR) && !self.close_table() {
            return Meaning::Ignored;
        }
        self.make_room(tag);
        match tag {
            FORM if self.form_open && self.templates == 0 => return Meaning::Ignored,
            SELECT if self.in_scope(SELECT, 0).is_some() => {
                self.close(SELECT);
                return Meaning::Ignored;
            }
            FORM => {
                self.form_open = self.form_open || self.templates == 0;
                if matches!(self.context(), TABLE | TBODY | TFOOT | THEAD | TR) {
                    return Meaning::Html;
                }
            }
            INPUT if !said.hidden => self.may_become_frameset = false,
            _ => {}
        }
        if tag == SVG || tag == MATH {
            if !said.self_closing {
                self.push_foreign(name, if tag == SVG { Space::Svg } else { Space::Math }, said);
            }
            // A drawing is no part of itself.
            return Meaning::Html;
        }
        if !tags::is(tag, VOID) {
            self.push(name);
        }
        Meaning::Html
    }

    /// What an element closes where it begins.
    fn make_room(&mut self, tag: Tag) {
        match tag {
            LI => self.close_item(&[LI]),
            DD | DT => self.close_item(&[DD, DT]),
            _ => {}
        }
        if tags::is(tag, ENDS_P) {
            self.end_p();
        }
        match tag {
            A | NOBR => self.end_formatting(Name { tag, hash: 0 }, tag == A),
            BUTTON => self.close_in_scope(BUTTON),
            INPUT => self.close_in_scope(SELECT),
            OPTION | OPTGROUP | HR if self.in_scope(SELECT, 0).is_some() => {
                self.close_implied(if tag == OPTION { OPTGROUP } else { OTHER });
            }
            OPTION | OPTGROUP if self.top_is(OPTION) => self.pop(),
            RB | RTC if self.in_scope(RUBY, 0).is_some() => self.close_implied(OTHER),
            RP | RT if self.in_scope(RUBY, 0).is_some() => self.close_implied(RTC),
            _ if is_heading(tag)
                && self.open.last().is_some_and(|top| top.space == Space::Html && is_heading(top.name.tag)) =>
            {
                self.pop();
            }
            _ => {}
        }
    }

    /// The part of a table, if it may stand here.
    fn start_in_table(&mut self, name: Name) -> Meaning {
        loop {
            match (self.context(), name.tag) {
                (OTHER, _) => return Meaning::Ignored,
                (TEMPLATE, _) => break,
                (CAPTION | TD | TH, _) => self.close_context(),
                (COLGROUP, COL) => break,
                (COLGROUP, _) => self.close_context(),
                (TR, TD | TH) | (TBODY | TFOOT | THEAD, TR) | (TABLE, _) => {
                    self.clear_to_context();
                    break;
                }
                (TBODY | TFOOT | THEAD, TD | TH) => {
                    self.clear_to_context();
                    self.push(Name { tag: TR, hash: 0 });
                }
                _ => self.close_context(),
            }
        }
        match (self.context(), name.tag) {
            (TABLE, TD | TH) => {
                self.push(Name { tag: TBODY, hash: 0 });
                self.push(Name { tag: TR, hash: 0 });
            }
            (TABLE, TR) => self.push(Name { tag: TBODY, hash: 0 }),
            (TABLE, COL) => self.push(Name { tag: COLGROUP, hash: 0 }),
            _ => {}
        }
        if name.tag != COL {
            self.push(name);
        }
        Meaning::Html
    }

    fn end_html(&mut self, name: Name) {
        let tag = name.tag;
        if tags::is(tag, TABULAR) || tag == TABLE {
            self.end_in_table(tag);
            return;
        }
        match tag {
            HTML | BODY => {}
            BR => self.may_become_frameset = false,
            TEMPLATE => {
                if self.templates > 0 {
                    self.close(TEMPLATE);
                }
            }
            P => self.end_p(),
            LI => {
                if let Some(at) = self.in_item_scope(LI) {
                    self.cut(at);
                }
            }
            FORM => self.end_form(),
            _ if is_heading(tag) => self.end_heading(),
            _ if tags::is(tag, BLOCK) => self.close_in_scope(tag),
            _ if tags::is(tag, FORMATTING) => self.end_formatting(name, false),
            _ => self.end_other(name),
        }
    }

    fn end_in_table(&mut self, tag: Tag) {
        if self.counts[tag as usize] == 0 || tag == COL {
            return;
        }
        // Within the table that is the innermost one, or template.
        let mut found = None;
        for (number, &at) in self.contexts.iter().enumerate().rev().take(WALK) {
            let open = self.open[at as usize].name.tag;
            if open == tag {
                found = Some(number);
                break;
            }
            let hides = matches!(open, TABLE | TEMPLATE)
                || (open == CAPTION && tag != TABLE)
                || (matches!(open, TD | TH) && matches!(tag, CAPTION | COLGROUP))
                || (matches!(open, TR | TBODY | TFOOT | THEAD) && matches!(tag, CAPTION | COLGROUP));
            if hides {
                return;
            }
        }
        if let Some(number) = found {
            self.cut(self.contexts[number] as usize);
        }
    }

    fn end_form(&mut self) {
        self.form_open = self.form_open && self.templates > 0;
        let Some(at) = self.in_scope(FORM, 0) else { return };
        if self.templates > 0 {
            self.cut(at);
        } else {
            self.close_implied(OTHER);
            if at < self.open.len() {
                self.remove(at);
            }
        }
    }

    fn end_heading(&mut self) {
        for at in self.recent() {
            let open = self.open[at];
            if open.space == Space::Html && is_heading(open.name.tag) {
                return self.cut(at);
            }
            if open.ends_scope() {
                return;
            }
        }
    }

    /// Formatting that is closed before what stands in it: it alone is gone then. `anyway`: also where it is out of scope.
    fn end_formatting(&mut self, name: Name, anyway: bool) {
        if self.counts[name.tag as usize] == 0 {
            return;
        }
        let mut above = None;
        for at in self.recent() {
            let open = self.open[at];
            if open.is_html(name.tag) {
                match above {
                    None => self.cut(at),
                    Some(last) => {
                        self.cut(last + 1);
                        self.remove(at);
                    }
                }
                return;
            }
            if open.ends_scope() && !(anyway && open.special() && !tags::is(open.name.tag, SCOPE)) {
                return;
            }
            if above.is_none() && open.special() {
                above = Some(at);
            }
        }
    }

    fn end_other(&mut self, name: Name) {
        if name.tag != OTHER && self.counts[name.tag as usize] == 0 {
            return;
        }
        for at in self.recent() {
            let open = self.open[at];
            if open.space == Space::Html && open.name == name {
                return self.cut(at);
            }
            if open.special() {
                return;
            }
        }
    }

    fn end_p(&mut self) {
        if self.counts[P as usize] > 0
            && let Some(at) = self.in_scope(P, BUTTON)
        {
            self.cut(at);
        }
    }

    fn close_in_scope(&mut self, tag: Tag) {
        if let Some(at) = self.in_scope(tag, 0) {
            self.cut(at);
        }
    }

    fn close(&mut self, tag: Tag) {
        if self.counts[tag as usize] > 0
            && let Some(at) = self.open.iter().rposition(|open| open.is_html(tag))
        {
            self.cut(at);
        }
    }

    /// An item of a list that another one ends.
    fn close_item(&mut self, tags: &[Tag]) {
        if tags.iter().all(|&tag| self.counts[tag as usize] == 0) {
            return;
        }
        for at in self.recent() {
            let open = self.open[at];
            if open.space == Space::Html && tags.contains(&open.name.tag) {
                return self.cut(at);
            }
            if open.special() && !(open.space == Space::Html && matches!(open.name.tag, ADDRESS | DIV | P)) {
                return;
            }
        }
    }

    fn close_implied(&mut self, but: Tag) {
        while let Some(top) = self.open.last() {
            if top.space != Space::Html || !tags::is(top.name.tag, IMPLIED) || top.name.tag == but {
                break;
            }
            self.pop();
        }
    }

    /// Where the element is, if nothing ends its scope before; `more` ends it as well.
    fn in_scope(&self, tag: Tag, more: Tag) -> Option<usize> {
        if self.counts[tag as usize] == 0 {
            return None;
        }
        for at in self.recent() {
            let open = self.open[at];
            if open.is_html(tag) {
                return Some(at);
            }
            if open.ends_scope() || (more != OTHER && open.is_html(more)) {
                return None;
            }
        }
        None
    }

    fn in_item_scope(&self, tag: Tag) -> Option<usize> {
        if self.counts[tag as usize] == 0 {
            return None;
        }
        for at in self.recent() {
            let open = self.open[at];
            if open.is_html(tag) {
                return Some(at);
            }
            if open.ends_scope() || open.is_html(OL) || open.is_html(UL) {
                return None;
            }
        }
        None
    }

    /// Places of open elements, innermost first.
    fn recent(&self) -> impl Iterator<Item = usize> + use<> {
        let length = self.open.len();
        (length.saturating_sub(WALK)..length).rev()
    }

    /// The part of a table, or the template, that is innermost; `OTHER`: none.
    fn context(&self) -> Tag {
        self.contexts.last().map_or(OTHER, |&at| self.open[at as usize].name.tag)
    }

    fn close_context(&mut self) {
        if let Some(&at) = self.contexts.last() {
            self.cut(at as usize);
        }
    }

    fn clear_to_context(&mut self) {
        if let Some(&at) = self.contexts.last() {
            self.cut(at as usize + 1);
        }
    }

    /// The innermost table, unless a template stands in between.
    fn close_table(&mut self) -> bool {
        while !matches!(self.context(), TABLE | TEMPLATE | OTHER) {
            self.close_context();
        }
        let found = self.context() == TABLE;
        if found {
            self.close_context();
        }
        found
    }

    fn top_is(&self, tag: Tag) -> bool {
        self.open.last().is_some_and(|top| top.is_html(tag))
    }

    fn push(&mut self, name: Name) {
        if tags::is(name.tag, TABULAR) || matches!(name.tag, TABLE | TEMPLATE) {
            self.contexts.push(u32::try_from(self.open.len()).unwrap_or(u32::MAX));
        }
        self.templates += u32::from(name.tag == TEMPLATE);
        self.counts[name.tag as usize] += 1;
        self.open.push(Open { name, space: Space::Html, holds_html: false });
    }

    fn pop(&mut self) {
        self.cut(self.open.len().saturating_sub(1));
    }

    /// Closes the element at this place and all in it.
    fn cut(&mut self, at: usize) {
        while self.open.len() > at {
            let Some(gone) = self.open.pop() else { break };
            self.forget(gone);
        }
        while self.contexts.last().is_some_and(|&context| context as usize >= at) {
            self.contexts.pop();
        }
    }

    /// Takes away one that is no part of a table.
    fn remove(&mut self, at: usize) {
        let gone = self.open.remove(at);
        self.forget(gone);
        for context in self.contexts.iter_mut().rev() {
            if (*context as usize) < at {
                break;
            }
            *context -= 1;
        }
    }

    fn forget(&mut self, gone: Open) {
        if gone.space == Space::Html {
            self.templates -= u32::from(gone.name.tag == TEMPLATE);
            self.counts[gone.name.tag as usize] -= 1;
        } else {
            self.foreign -= 1;
        }
    }
}
