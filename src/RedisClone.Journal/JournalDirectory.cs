using System.Globalization;
using System.Text;
using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;
using RedisClone.Journal.Offline;
using RedisClone.Journal.Rdb;

namespace RedisClone.Journal;

/// <summary>
/// The append-only directory of one server: its lock and its manifest. The manifest is replaced as a whole by write,
/// flush, rename and a flush of the directory. A caller that changes the manifest holds the writer role; see
/// <see cref="JournalEngine"/>.
/// </summary>
public sealed class JournalDirectory : IDisposable
{
    private const int LongestManifest = 64 << 20;
    private const int TailOfFingerprint = 64;

    private IDisposable _lock;
    private long _lastBase;
    private long _lastIncrement;
    private Manifest? _announced;
    private Manifest? _renamed;         // the last manifest whose rename was tried: it may be on the disk

    private JournalDirectory(IDisk disk, JournalNames names, IDisposable @lock, Manifest manifest)
    {
        Disk = disk;
        Names = names;
        _lock = @lock;
        Manifest = manifest;
        _lastBase = manifest.LastBaseSequence;
        _lastIncrement = manifest.LastIncrementSequence;
        IReadOnlyList<ManifestFile> files = LostManifest.FilesOf(disk, names);
        if (files.FirstOrDefault(file => file.Sequence > Manifest.MaxSequence) is { } excessive)
            throw new IOException($"{Manifest.SequenceOutOfRange}: {excessive.Name}");
        Unnamed = LostManifest.NewerThan(manifest, files, disk, names);
        foreach (ManifestFile file in files)
        {
            if (file.Kind == ManifestFileKind.Base) _lastBase = Math.Max(_lastBase, file.Sequence);
            else _lastIncrement = Math.Max(_lastIncrement, file.Sequence);
        }
    }

    /// <summary>
    /// Newer increments with commands that the manifest did not name at the start. Either the manifest was replaced by an older
    /// one, or a crash came while a failed journal was rebuilt; then none of their commands was acknowledged. They are neither
    /// read nor replaced.
    /// </summary>
    public IReadOnlyList<string> Unnamed { get; }

    public IDisk Disk { get; }

    public JournalNames Names { get; }

    public Manifest Manifest { get; private set; }

    /// <summary>
    /// Opens the directory for a server and creates it if it does not exist. Returns null and the reason if another
    /// server holds the directory or its manifest is not valid.
    /// </summary>
    /// <param name="disk">The disk.</param>
    /// <param name="names">The names of the files.</param>
    /// <param name="error">The reason of a failure.</param>
    /// <param name="isStart">
    /// Whether the data of the directory will be loaded. The single file of Redis before 7.0 then moves into it. A journal that begins later
    /// replaces what is there, and the file may be all that there is of its data.
    /// </param>
    public static JournalDirectory? TryOpen(IDisk disk, JournalNames names, out string error, bool isStart = false)
    {
        error = "";
        IDisposable? held = null;
        try
        {
            if (!disk.DirectoryExists(names.Directory))
            {
                disk.CreateDirectory(names.Directory);
                disk.FlushDirectory(names.Root);
            }
            held = disk.TryLock(names.PathOf(names.Lock));
            if (held is null)
            {
                error = $"The append-only directory {names.DirectoryName} is in use by another server (it holds {names.Lock})";
                return null;
            }
            FinishRenames(disk, names);
            if (!TryReadManifest(disk, names, out Manifest? manifest, out error))
            {
                held.Dispose();
                return null;
            }
            if (!manifest.IsEmpty && !disk.Exists(names.PathOf(names.Manifest)))
            {
                disk.Rename(names.PathOf(names.TemporaryManifest), names.PathOf(names.Manifest));
                disk.FlushDirectory(names.Directory);
            }
            var directory = new JournalDirectory(disk, names, held, manifest);
            if (isStart) directory.TakeOverOldStyleFile();
            return directory;
        }
        catch (Exception failure)
        {
            held?.Dispose();
            if (failure is not (IOException or UnauthorizedAccessException)) throw;
            error = $"Can't open or create append-only dir {names.DirectoryName}: {failure.Message}";
            return null;
        }
    }

    /// <summary>
    /// Reads the manifest without locking the directory, for the offline commands. If the manifest is missing and the
    /// directory has no journal files, the result is empty. If it is missing and journal files exist, the result is the
    /// manifest that <see cref="Announce"/> wrote, or an error.
    /// </summary>
    public static bool TryReadManifest(IDisk disk, JournalNames names, out Manifest manifest, out string error)
    {
        manifest = Manifest.Empty;
        error = "";
        if (!disk.DirectoryExists(names.Directory)) return true;
        if (disk.DirectoryExists(names.PathOf(names.Manifest)))
        {
            error = $"FATAL AOF MANIFEST FILE ERROR: {names.Manifest} is a directory";
            return false;
        }
        IReadOnlyList<ManifestFile> files = LostManifest.FilesOf(disk, names);
        if (disk.Exists(names.PathOf(names.Manifest)))
        {
            if (TryParse(disk, names.PathOf(names.Manifest), out manifest, out error))
            {
                if (!manifest.IsEmpty || files.Count == 0) return true;
                error = $"it names no file. {LostManifest.Refusal(names, files)}";
            }
            error = $"FATAL AOF MANIFEST FILE ERROR: {names.Manifest}: {error}";
            return false;
        }
        if (files.Count == 0 || TryReadAnnounced(disk, names, files, out manifest)) return true;
        error = LostManifest.Refusal(names, files);
        return false;
    }

    private static bool TryParse(IDisk disk, string path, out Manifest manifest, out string error) =>
        Manifest.TryParse(disk.ReadAll(path, LongestManifest) ?? throw new IOException($"{path} is too long"), out manifest, out error);

    /// <summary>
    /// Reads the temporary file of the first manifest, after a crash before its rename. The manifest is valid if it
    /// names exactly the files that exist.
    /// </summary>
    private static bool TryReadAnnounced(IDisk disk, JournalNames names, IReadOnlyList<ManifestFile> files, out Manifest manifest)
    {
        manifest = Manifest.Empty;
        string path = names.PathOf(names.TemporaryManifest);
        if (!disk.Exists(path) || !TryParse(disk, path, out Manifest announced, out _)) return false;
        if (!announced.Files.Select(f => f.Name).ToHashSet().SetEquals(files.Select(f => f.Name))) return false;
        manifest = announced;
        return true;
    }

    /// <summary>
    /// Returns the renames that remain after a crash between <see cref="Announce"/> and <see cref="Publish"/>. The list
    /// is empty unless the announced manifest names every base and increment in the directory and each of the named
    /// files exists under its final or its temporary name.
    /// </summary>
    internal static IReadOnlyList<(string From, string To)> RenamesLeft(IDisk disk, JournalNames names)
    {
        string manifest = names.PathOf(names.Manifest), temporary = names.PathOf(names.TemporaryManifest);
        if (disk.Exists(manifest) || disk.DirectoryExists(manifest) || !disk.Exists(temporary)) return [];
        var there = LostManifest.FilesOf(disk, names).Select(f => f.Name).ToHashSet();

        // Temporary files alone are not a journal: the first rename happens only after the announced manifest is
        // durable.
        if (there.Count == 0 || !TryParse(disk, temporary, out Manifest announced, out _)) return [];
        var renames = new List<(string From, string To)>();
        foreach (ManifestFile file in announced.Files)
        {
            if (there.Remove(file.Name)) continue;
            string from = names.PathOf(file.Kind == ManifestFileKind.Base ? names.TemporaryBase : names.TemporaryIncrement);
            if (!disk.Exists(from) || renames.Any(rename => rename.From == from)) return [];
            renames.Add((from, names.PathOf(file.Name)));
        }
        return there.Count == 0 ? renames : [];
    }

    private static void FinishRenames(IDisk disk, JournalNames names)
    {
        IReadOnlyList<(string From, string To)> renames = RenamesLeft(disk, names);
        if (renames.Count == 0) return;
        foreach ((string from, string to) in renames) disk.Rename(from, to);
        disk.FlushDirectory(names.Directory);
    }

    /// <summary>
    /// Returns a sequence number that no file in the directory has, and that is never used again. After a failed <see cref="Publish"/> the manifest on the
    /// disk may name files that the manifest in memory does not. A file with such a name must not be replaced.
    /// </summary>
    /// <exception cref="IOException">No number is left. No start accepts a manifest with a higher one.</exception>
    internal long TakeBaseSequence() => Next(ref _lastBase);

    /// <inheritdoc cref="TakeBaseSequence"/>
    internal long TakeIncrementSequence() => Next(ref _lastIncrement);

    private static long Next(ref long last) =>
        last < Manifest.MaxSequence ? ++last : throw new IOException("The sequence numbers of the journal's files are exhausted");

    /// <summary>
    /// Replaces the manifest. If it throws, either the old or the new manifest is in force, so both must describe the
    /// same data.
    /// </summary>
    public void Publish(Manifest manifest)
    {
        if (_announced != manifest) WriteTemporary(manifest);
        _announced = null;

        // The files that the manifest names must be durable before the manifest is.
        Disk.FlushDirectory(Names.Directory);
        _renamed = manifest;
        Disk.Rename(Names.PathOf(Names.TemporaryManifest), Names.PathOf(Names.Manifest));
        Disk.FlushDirectory(Names.Directory);
        Manifest = manifest;
    }

    /// <summary>
    /// Writes the first manifest under its temporary name, before its files receive their final names. Without this
    /// step, a crash between the renames and <see cref="Publish"/> would leave files without a manifest, which a start
    /// refuses. The next start reads the announced manifest and completes the renames.
    /// </summary>
    internal void Announce(Manifest manifest)
    {
        if (!Manifest.IsEmpty) return;
        _announced = null;
        WriteTemporary(manifest);
        Disk.FlushDirectory(Names.Directory);
        _announced = manifest;
    }

    /// <summary>Whether the manifest on the disk may be another one than <see cref="Manifest"/>, because an attempt to replace it failed late.</summary>
    internal bool MayNameUnpublished => _renamed is { } renamed && renamed != Manifest;

    /// <summary>
    /// Deletes a new file after a failure, unless a manifest on the disk may name it. Otherwise each start on a full
    /// disk would leave a file. Does not throw.
    /// </summary>
    internal void DeleteUnpublished(ManifestFile file)
    {
        // An announced manifest may name the file.
        if (Manifest.IsEmpty || _renamed is { } renamed && renamed.Files.Contains(file)) return;
        try
        {
            Disk.Delete(Names.PathOf(file.Name));
        }
        catch (Exception failure) when (DiskFailure.Is(failure))
        {
            // The file stays. It holds nothing that is not elsewhere.
        }
    }

    /// <summary>
    /// A number that differs if other files are in the directory than at another time, or files of another length. It covers the names, the
    /// lengths and the last bytes of the files that the manifest names. 0 without files.
    /// </summary>
    public long Fingerprint()
    {
        if (Manifest.IsEmpty) return 0;
        var known = new MemoryStream();
        Span<byte> tail = stackalloc byte[TailOfFingerprint];
        foreach (ManifestFile named in Manifest.Files)
        {
            using IDiskFile file = Disk.Open(Names.PathOf(named.Name), DiskOpen.Read);
            long length = file.Length;
            known.Write(Encoding.UTF8.GetBytes(string.Create(CultureInfo.InvariantCulture, $"{named.Name} {length}\n")));
            known.Write(tail[..file.Read(Math.Max(0, length - tail.Length), tail)]);
        }
        return (long)(Crc64.Compute(known.ToArray()) >> 1);
    }

    private void WriteTemporary(Manifest manifest)
    {
        using IDiskFile file = Disk.Open(Names.PathOf(Names.TemporaryManifest), DiskOpen.New);
        file.Write(0, manifest.ToBytes());
        file.Flush();
    }

    /// <summary>
    /// Turns the complete file <see cref="JournalNames.TemporaryBase"/> into the base and deletes all other files of
    /// the journal. Used by a server that keeps no journal. Returns null, or the reason for a failure.
    /// </summary>
    public string? InstallLoneBase(bool rdb)
    {
        try
        {
            Manifest before = Manifest;
            long sequence = TakeBaseSequence();
            var @base = new ManifestFile(Names.Base(sequence, rdb), sequence, ManifestFileKind.Base, HasHeader: !rdb);
            var manifest = new Manifest(@base, [], []);
            Announce(manifest);
            Disk.Rename(Names.PathOf(Names.TemporaryBase), Names.PathOf(@base.Name));
            Publish(manifest);
            foreach (ManifestFile file in before.Files.Concat(before.History)) Disk.Delete(Names.PathOf(file.Name));
            return null;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            return failure.Message;
        }
    }

    /// <summary>
    /// Creates the directory and its lock again if they were removed while the server runs. The next base makes the directory complete.
    /// </summary>
    public void Restore()
    {
        if (Disk.Exists(Names.PathOf(Names.Lock))) return;
        if (!Disk.DirectoryExists(Names.Directory))
        {
            Disk.CreateDirectory(Names.Directory);
            Disk.FlushDirectory(Names.Root);
        }
        IDisposable? held = Disk.TryLock(Names.PathOf(Names.Lock));
        if (held is null) return;
        _lock.Dispose();
        _lock = held;
    }

    public void Dispose() => _lock.Dispose();

    /// <summary>
    /// Turns the single file of Redis before 7.0, which is next to the directory, into the base. The manifest names the
    /// file before it is moved. After a crash between the two steps, the next start moves it.
    /// </summary>
    private void TakeOverOldStyleFile()
    {
        if (!Disk.Exists(Names.OldStyleFile))
        {
            // A directory in its place, as a mount of a missing file creates, is no reason to begin with no data.
            if (Manifest.IsEmpty && Names.OldStyleFile != Names.Directory && Disk.DirectoryExists(Names.OldStyleFile))
                throw new IOException($"{Names.FileName} is a directory");
            return;
        }
        bool isNamedButNotMoved = Manifest.Base?.Name == Names.FileName && Manifest.Increments.Count == 0
            && !Disk.Exists(Names.PathOf(Names.FileName));
        if (!Manifest.IsEmpty && !isNamedButNotMoved) return;

        // A file that cannot be opened is refused before anything changes.
        Disk.Open(Names.OldStyleFile, DiskOpen.Read).Dispose();
        Publish(Manifest.OfOldStyleFile(Names.FileName));
        _lastBase = Math.Max(_lastBase, 1);
        Disk.Rename(Names.OldStyleFile, Names.PathOf(Names.FileName));
        Disk.FlushDirectory(Names.Directory);
        Disk.FlushDirectory(Names.Root);
    }
}
