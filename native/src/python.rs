//! The Python module: settings and bytes in, columns out.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::collect::{KINDS, Kind, Limits, Link, Page};
use crate::join::{DEFAULT_RULES, Joiner, REFUSALS, Refusal, Rules, Target, server_hash};

/// What workers/extractor/readers.py asks for: raised with every change of what is given or taken here.
const INTERFACE: u32 = 1;

/// Where a link leads.
enum Lead {
    Joined(Target),
    Refused(Refusal),
    /// Left to Python: its query is to be written in the page's charset, or it is no link yet.
    Open,
}

/// All that is said of a page's links, in columns.
struct Found<'a> {
    base: String,
    page: Page<'a>,
    leads: Vec<Lead>,
    servers: Vec<String>,
}

/// Reads pages; made once for the settings of a crawl.
#[pyclass(frozen)]
struct Scanner {
    limits: Limits,
    rules: Rules,
    url: Py<PyAny>,
    refusals: Vec<Py<PyString>>,
    kinds: Vec<Py<PyString>>,
    schemes: [Py<PyString>; 2],
}

#[pymethods]
impl Scanner {
    /// `url` makes a URL of scheme, server and path.
    #[new]
    #[pyo3(signature = (url, *, agent, max_links, requisites, max_length, drop_session_ids, drop_tracking, sort_query))]
    #[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)]
    fn new(
        py: Python<'_>,
        url: Py<PyAny>,
        agent: &str,
        max_links: usize,
        requisites: bool,
        max_length: usize,
        drop_session_ids: bool,
        drop_tracking: bool,
        sort_query: bool,
    ) -> Self {
        let text = |text: &str| PyString::intern(py, text).unbind();
        Scanner {
            limits: Limits { max_links, agent: agent.to_lowercase(), requisites },
            rules: Rules { max_length, drop_session_ids, drop_tracking, sort_query },
            url,
            refusals: REFUSALS.iter().map(|reason| text(reason)).collect(),
            kinds: KINDS.iter().map(|kind| text(kind)).collect(),
            schemes: [text("http"), text("https")],
        }
    }

    /// What the page at `url` says: (base, title, robots, dropped, hrefs, kinds, rels, times, urls). `unicode`: its queries are in UTF-8.
    /// None: these bytes are no UTF-8.
    fn scan<'py>(
        &self,
        py: Python<'py>,
        data: &[u8],
        url: &str,
        unicode: bool,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        match py.detach(|| self.find(data, url, unicode)) {
            Some(found) => self.columns(py, &found).map(Some),
            None => Ok(None),
        }
    }

    /// The distinct URLs that the page leads to: (servers, their hashes, the number of each URL's server, fingerprints of URLs), all but
    /// the first as arrays of 8, 4 and 8 bytes in the machine's order.
    fn fingerprints<'py>(&self, py: Python<'py>, data: &[u8], url: &str) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let Some(found) = py.detach(|| self.find(data, url, true)) else { return Ok(None) };
        let hashes: Vec<u8> = found.servers.iter().flat_map(|server| server_hash(server).to_ne_bytes()).collect();
        let targets =
            || found.leads.iter().filter_map(|lead| if let Lead::Joined(target) = lead { Some(target) } else { None });
        let numbers: Vec<u8> = targets().flat_map(|target| target.server.to_ne_bytes()).collect();
        let prints: Vec<u8> = targets().flat_map(|target| target.fingerprint.to_ne_bytes()).collect();
        (
            PyList::new(py, &found.servers)?,
            PyBytes::new(py, &hashes),
            PyBytes::new(py, &numbers),
            PyBytes::new(py, &prints),
        )
            .into_pyobject(py)
            .map(Some)
    }
}

impl Scanner {
    fn find<'a>(&'a self, data: &'a [u8], url: &str, unicode: bool) -> Option<Found<'a>> {
        let page = crate::scan::scan(std::str::from_utf8(data).ok()?, &self.limits);
        let base = match &page.base {
            Some(href) => {
                crate::join::join(url, href, DEFAULT_RULES).map_or_else(|_| url.to_owned(), |base| base.text())
            }
            None => url.to_owned(),
        };
        let mut joiner = Joiner::new(&base, self.rules);
        let leads = page.links.iter().map(|link| lead(joiner.as_mut(), link, unicode)).collect();
        Some(Found { base, page, leads, servers: joiner.map(|joiner| joiner.servers).unwrap_or_default() })
    }

    fn columns<'py>(&self, py: Python<'py>, found: &Found<'_>) -> PyResult<Bound<'py, PyTuple>> {
        let links = &found.page.links;
        let servers: Vec<Bound<'py, PyString>> = found.servers.iter().map(|server| PyString::new(py, server)).collect();
        let mut urls = Vec::with_capacity(links.len());
        for lead in &found.leads {
            urls.push(match lead {
                Lead::Joined(target) => {
                    let scheme = &self.schemes[usize::from(target.https)];
                    self.url.bind(py).call1((scheme, &servers[target.server as usize], &target.path))?
                }
                Lead::Refused(refusal) => self.refusals[*refusal as usize].bind(py).clone().into_any(),
                Lead::Open => py.None().into_bound(py),
            });
        }
        (
            &found.base,
            &found.page.title,
            found.page.robots,
            found.page.dropped,
            PyList::new(py, links.iter().map(|link| &*link.href))?,
            PyList::new(py, links.iter().map(|link| &self.kinds[link.kind as usize]))?,
            PyList::new(py, links.iter().map(|link| link.rel))?,
            PyList::new(py, links.iter().map(|link| link.times))?,
            PyList::new(py, urls)?,
        )
            .into_pyobject(py)
    }
}

fn lead(joiner: Option<&mut Joiner>, link: &Link<'_>, unicode: bool) -> Lead {
    let in_charset = || !unicode && link.href.split_once('?').is_some_and(|(_, query)| !query.is_ascii());
    match joiner {
        Some(joiner) if !matches!(link.kind, Kind::Srcset | Kind::Style) && !in_charset() => {
            joiner.join(&link.href).map_or_else(Lead::Refused, Lead::Joined)
        }
        _ => Lead::Open,
    }
}

#[pymodule]
mod gregor_native {
    #[pymodule_export]
    use super::Scanner;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("INTERFACE", super::INTERFACE)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
