// Colly as its documentation recommends for a fast crawl of one host: asynchronous, 32 requests at once, no delay.
//
// Its own check whether a URL was visited is not atomic with the visit, so that it fetches some pages twice: an atomic set stands before it.
package main

import (
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/gocolly/colly/v2"
)

func main() {
	start := os.Args[1]
	origin, err := url.Parse(start)
	if err != nil {
		panic(err)
	}
	var seen sync.Map
	crawler := colly.NewCollector(colly.Async(true), colly.AllowURLRevisit(), colly.AllowedDomains(origin.Hostname(), origin.Host))
	if err := crawler.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 32}); err != nil {
		panic(err)
	}
	visit := func(link string) {
		link, _, _ = strings.Cut(link, "#")
		if _, there := seen.LoadOrStore(link, true); !there {
			_ = crawler.Visit(link)
		}
	}
	crawler.OnHTML("a[href]", func(element *colly.HTMLElement) {
		if link := element.Request.AbsoluteURL(element.Attr("href")); link != "" {
			visit(link)
		}
	})
	visit(start)
	crawler.Wait()
}
