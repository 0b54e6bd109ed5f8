"""How RocksDB is set up, each figure with its reason; caches and write buffers are shared by all stores of a process."""

from msgspec import Struct
from rocksdict import BlockBasedOptions, Cache, DBCompressionType, Options, WriteBufferManager

from gregor.config.sections import MIB, StateSection


class StoreOptions(Struct, frozen=True, kw_only=True):
    """What differs between a laptop, a test and a cluster."""

    block_cache_bytes: int = 256 * 1024 * 1024
    """Uncompressed blocks of ALL stores of the process: what keeps the hot repositories in memory."""
    write_buffer_bytes: int = 128 * 1024 * 1024
    """Memtables of ALL stores together; when they are full the oldest is flushed, whichever store it belongs to."""
    memtable_bytes: int = 16 * 1024 * 1024
    """One family's memtable: large enough that a checkpoint never fills several, small enough for dozens of partitions."""
    block_bytes: int = 16 * 1024
    """Values are mostly packed arrays of kilobytes; smaller blocks would only add index entries."""
    background_jobs: int = 2
    """Flushes and compactions at once; the machine's cores belong to the crawl."""
    wal_bytes: int = 64 * 1024 * 1024
    """Write-ahead log before families that rarely change are flushed, which bounds the time to open after a kill."""
    flushes_before_merge: int = 10
    """Memtables that a family has flushed before they are merged with the rest of it, which rewrites nearly all of a family of millions
    of small keys. More would make every read of a range look into more files."""
    own_cache: frozenset[str] = frozenset(("runs", "seen"))
    """Families of hashes in values of kilobytes, whose reader keeps in memory what it has read: RocksDB neither caches nor compresses
    them. At 100 million known URLs a block is then read in two thirds of the time; hashes hardly shrink."""
    own_block_bytes: int = 2 * 1024
    """Blocks of those families: a larger value is one of its own, so that reading it reads nothing else."""
    own_file_bytes: int = 16 * 1024 * 1024
    """Files of those families: what is merged with a stretch of keys ends near it."""
    own_level_bytes: int = 4 * 1024 * 1024 * 1024
    """They come in stretches of keys, which meet only their own stretch of the last level: a level in between, before there is so much
    of them, would only write them once more."""
    open_files: int = 256
    """A partition has few files; dozens of partitions must stay below a shell's limit of descriptors."""

    @classmethod
    def of(cls, state: StateSection) -> "StoreOptions":
        """What the configuration decides; the rest is as above."""
        return cls(block_cache_bytes=state.block_cache_mb * MIB, write_buffer_bytes=state.write_buffer_mb * MIB)


class SharedMemory:
    """The block cache and the write buffers that bound the memory of every store of a process together."""

    def __init__(self, options: StoreOptions) -> None:
        self.options = options
        self.cache = Cache(options.block_cache_bytes)
        self.buffers = WriteBufferManager(options.write_buffer_bytes, False)

    def for_store(self) -> Options:
        """Options of the database itself."""
        options = self.for_family("default")
        options.create_if_missing(True)
        options.create_missing_column_families(True)
        options.set_write_buffer_manager(self.buffers)
        options.set_max_background_jobs(self.options.background_jobs)
        options.set_max_total_wal_size(self.options.wal_bytes)
        options.set_max_open_files(self.options.open_files)
        options.set_keep_log_file_num(2)
        options.set_max_log_file_size(1024 * 1024)
        options.set_manifest_preallocation_size(64 * 1024)
        return options

    def for_family(self, family: str) -> Options:
        """Options of one column family."""
        keeps_own = family in self.options.own_cache
        options = Options(raw_mode=True)
        options.set_block_based_table_factory(self._uncached_table() if keeps_own else self._table())
        options.set_write_buffer_size(self.options.memtable_bytes)
        options.set_compression_type(DBCompressionType.none() if keeps_own else DBCompressionType.lz4())
        options.set_level_compaction_dynamic_level_bytes(True)
        if keeps_own:
            options.set_target_file_size_base(self.options.own_file_bytes)
            options.set_max_bytes_for_level_base(self.options.own_level_bytes)
        else:
            options.set_level_zero_file_num_compaction_trigger(self.options.flushes_before_merge)
        return options

    def _table(self) -> BlockBasedOptions:
        table = BlockBasedOptions()
        table.set_block_cache(self.cache)
        table.set_block_size(self.options.block_bytes)
        table.set_bloom_filter(10, False)
        # Otherwise index and filter blocks live outside of the cache and memory grows with the store.
        table.set_cache_index_and_filter_blocks(True)
        table.set_pin_l0_filter_and_index_blocks_in_cache(True)
        return table

    def _uncached_table(self) -> BlockBasedOptions:
        """Index and filter blocks stay in memory, but of values this large they are a five hundredth of the store."""
        table = BlockBasedOptions()
        table.disable_cache()
        table.set_block_size(self.options.own_block_bytes)
        table.set_bloom_filter(10, False)
        return table
