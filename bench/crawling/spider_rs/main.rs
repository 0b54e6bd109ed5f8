// spider-rs as its documentation shows it for a crawl of one host: no delay, no robots.txt, 32 requests at once, pages dropped as they come.
use spider::tokio;
use spider::website::Website;

#[tokio::main]
async fn main() {
    let start = std::env::args().nth(1).expect("expected a URL, found no argument");
    let mut website = Website::new(&start);
    website
        .with_limit(0)
        .with_delay(0)
        .with_concurrency_limit(Some(32))
        .with_respect_robots_txt(false)
        .with_subdomains(false);
    website.crawl().await;
    println!("{}", website.get_size().await);
}
