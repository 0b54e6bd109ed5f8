"""The panels of the dashboard: what is drawn, from which metrics. dashboard.py makes Grafana's JSON of them."""

from typing import Final, NamedTuple

CRAWL: Final = 'crawl="$crawl"'


class Panel(NamedTuple):
    title: str
    unit: str
    queries: dict[str, str]
    """Legend to expression."""
    help: str = ""


def rate(metric: str, by: str, *labels: str) -> str:
    return f"sum by ({by}) (rate({metric}{{{','.join((CRAWL, *labels))}}}[$__rate_interval]))"


def gauge(metric: str) -> str:
    return f"{metric}{{{CRAWL}}}"


def quantile(share: float, metric: str, by: str) -> str:
    return f"histogram_quantile({share}, {rate(f'{metric}_bucket', f'le, {by}')})"


def recent(metric: str, by: str) -> str:
    return f"sum by ({by}) (increase({gauge(metric)}[10m]))"


MAIN_EVENTS: Final = 'event=~"discovered|admitted|duplicates|confirmed|failed"'

ROWS: Final[dict[str, tuple[Panel, ...]]] = {
    "The crawl": (
        Panel("Results by class", "ops", {"{{class}}": rate("gregor_fetch_results_total", "class")}),
        Panel(
            "URLs by where they are",
            "short",
            {"{{state}}": f"sum by (state) ({gauge('gregor_frontier_urls')})"},
            "queued, leased (in flight), waiting for another attempt or visit",
        ),
        Panel(
            "What happened to URLs", "ops", {"{{event}}": rate("gregor_frontier_events_total", "event", MAIN_EVENTS)}
        ),
        Panel(
            "Refused, dropped, failed", "ops", {"{{kind}} {{reason}}": rate("gregor_refusals_total", "kind, reason")}
        ),
        Panel(
            "Servers that want to be left alone",
            "percentunit",
            {
                "429 and 503": f"{rate('gregor_fetch_slow_down_total', 'crawl')} / "
                f"{rate('gregor_fetch_results_total', 'crawl')}"
            },
        ),
        Panel(
            "Time of a request",
            "s",
            {
                "p50 {{class}}": quantile(0.5, "gregor_fetch_seconds", "class"),
                "p95 {{class}}": quantile(0.95, "gregor_fetch_seconds", "class"),
            },
        ),
        Panel(
            "Waiting URLs are due in",
            "s",
            {"{{instance}}": f"({gauge('gregor_frontier_due_timestamp_seconds')} > 0) - time()"},
        ),
        Panel(
            "Sites",
            "short",
            {"{{state}}": f"sum by (state) ({gauge('gregor_sites')})"},
            "only where a coordinator places them; waiting: for somebody to approve them",
        ),
        Panel(
            "Sites by frontier",
            "short",
            {"{{instance}} {{state}}": f"sum by (instance, state) ({gauge('gregor_frontier_sites')})"},
            "owned: their slot is there; asked: the coordinator has not answered",
        ),
        Panel("What happened to sites", "short", {"{{event}}": recent("gregor_coordinator_events_total", "event")}),
        Panel("Bytes fetched", "Bps", {"bodies as they came": rate("gregor_fetch_bytes_total", "crawl")}),
        Panel(
            "Links at the caching filter",
            "ops",
            {"{{result}}": rate("gregor_filter_links_total", "result")},
            "hits cost no record; store_hit is a part of hit",
        ),
        Panel(
            "Who reads pages",
            "short",
            {"{{reader}}": f"sum by (reader) ({gauge('gregor_reader_info')})"},
            "extractors by their reader; python costs several times the processor time of native",
        ),
        Panel(
            "Archive",
            "short",
            {
                "pages a second": rate("gregor_archive_pages_total", "crawl"),
                "KB a second": f"{rate('gregor_archive_bytes_total', 'crawl')} / 1000",
            },
        ),
    ),
    "The topics": (
        Panel("Lag", "short", {"{{role}} {{topic}}": f"sum by (role, topic) ({gauge('gregor_lag_records')})"}),
        Panel(
            "Hidden by open transactions",
            "short",
            {"{{topic}}": f"max by (topic) ({gauge('gregor_lso_lag_records')})"},
            "high watermark less last stable offset; what stays up and does not move hangs",
        ),
        Panel("Dead letters", "short", {"{{role}} {{topic}}": recent("gregor_dead_letters_total", "role, topic")}),
        Panel(
            "Records of control and sites that nobody can read",
            "short",
            {"{{role}} {{topic}}": recent("gregor_broadcast_ignored_total", "role, topic")},
        ),
        Panel("Records taken", "ops", {"{{role}} {{topic}}": rate("gregor_records_total", "role, topic")}),
        Panel("Records written", "ops", {"{{role}} {{topic}}": rate("gregor_output_records_total", "role, topic")}),
        Panel("Bytes written", "Bps", {"{{role}}": rate("gregor_output_bytes_total", "role")}),
    ),
    "The workers": (
        Panel("Workers", "short", {"{{role}}": f"count by (role) ({gauge('gregor_worker_info')})"}),
        Panel("Time of a checkpoint, p95", "s", {"{{role}}": quantile(0.95, "gregor_checkpoint_seconds", "role")}),
        Panel(
            "Records of a checkpoint, median", "short", {"{{role}}": quantile(0.5, "gregor_checkpoint_records", "role")}
        ),
        Panel("Records of a poll, median", "short", {"{{role}}": quantile(0.5, "gregor_batch_records", "role")}),
        Panel("URLs decided", "ops", {"{{role}}": rate("gregor_urls_total", "role")}),
        Panel(
            "Processors used",
            "short",
            {
                "{{role}}": "sum by (role) (rate(process_cpu_seconds_total[$__rate_interval]) "
                f"* on (instance) group_left (role) {gauge('gregor_worker_info')})"
            },
        ),
        Panel(
            "Group changes, failed checkpoints in ten minutes",
            "short",
            {
                "{{role}} {{kind}}": recent("gregor_rebalances_total", "role, kind"),
                "{{role}} {{reason}}": recent("gregor_checkpoints_failed_total", "role, reason"),
            },
        ),
        Panel("Partitions", "short", {"{{role}} {{state}}": f"sum by (role, state) ({gauge('gregor_partitions')})"}),
        Panel(
            "Restore",
            "percentunit",
            {
                "{{instance}} partition {{partition}}": f"{gauge('gregor_restore_done_records')} "
                f"/ {gauge('gregor_restore_total_records')}"
            },
        ),
        Panel("URLs in the caching filter", "short", {"{{instance}}": gauge("gregor_filter_urls")}),
        Panel("Orders in flight", "short", {"{{instance}}": gauge("gregor_orders_in_flight")}),
        Panel("Size of states", "bytes", {"{{role}} {{instance}}": gauge("gregor_state_bytes")}),
        Panel("Free disk", "bytes", {"{{role}} {{instance}} {{disk}}": gauge("gregor_disk_free_bytes")}),
        Panel(
            "Brokers",
            "short",
            {
                "in service": f"min({gauge('gregor_brokers')})",
                "partitions that lack a copy": f"max({gauge('gregor_under_replicated_partitions')})",
            },
        ),
        Panel(
            "Silence of loops and brokers",
            "s",
            {
                "{{role}} {{instance}}": f"time() - {gauge('gregor_loop_turned_timestamp_seconds')}",
                "brokers to {{role}} {{instance}}": f"time() - {gauge('gregor_broker_answered_timestamp_seconds')}",
            },
        ),
        Panel(
            "Memory",
            "bytes",
            {
                "{{role}} {{instance}}": "process_resident_memory_bytes "
                f"* on (instance) group_left (role) {gauge('gregor_worker_info')}"
            },
        ),
    ),
}
