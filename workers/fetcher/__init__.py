"""The fetcher: carries out fetch orders politely and within caps, and reports every outcome. What is fetched next, it does not decide."""
