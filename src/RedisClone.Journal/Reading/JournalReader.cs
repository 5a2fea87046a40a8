using RedisClone.Journal.Disk;
using RedisClone.Journal.Format;

namespace RedisClone.Journal.Reading;

/// <summary>The tolerance of the reader.</summary>
/// <param name="LoadTruncated">
/// The setting <c>aof-load-truncated</c>. If false, every cut that loses data is refused.
/// </param>
/// <param name="AcceptDamage">If true, the journal is cut at the first damage even if later data was durable.</param>
public sealed record ReadOptions(bool LoadTruncated = true, bool AcceptDamage = false);

/// <summary>
/// Reads the files of a journal in order, up to the first bytes that do not verify, and classifies the end. If a later
/// mark proves that more was durable, the end is damage and the journal is refused. Otherwise a power loss explains it
/// and the rest is cut.
/// </summary>
public sealed class JournalReader(IDisk disk, JournalNames names, Manifest manifest, ReadOptions options)
{
    private readonly FileWindow _window = new();
    private readonly StreamState _state = new();
    private readonly List<JournalFileReport> _reports = [];
    private long _bytesRead;

    /// <summary>The total length of the files, to estimate the loading time.</summary>
    public long TotalBytes { get; private set; }

    /// <summary>
    /// The reading progress. May be read from any thread. The bytes of an RDB count when it is completely loaded.
    /// </summary>
    public long BytesRead => Volatile.Read(ref _bytesRead);

    /// <summary>Reads the whole journal into the sink. The files are not changed.</summary>
    public JournalReport Read(IJournalSink sink)
    {
        if (manifest.IsEmpty) return new() { Outcome = JournalOutcome.Absent };
        ManifestFile[] files = [.. manifest.Files];
        foreach (ManifestFile file in files)
        {
            try
            {
                if (disk.DirectoryExists(names.PathOf(file.Name))) return Refuse(file, 0, $"{file.Name} is a directory");
                if (!disk.Exists(names.PathOf(file.Name)))
                    return Refuse(file, 0, $"the manifest names {file.Name} and it is missing: No such file or directory");
                using IDiskFile opened = disk.Open(names.PathOf(file.Name), DiskOpen.Read);
                TotalBytes += opened.Length;
            }
            catch (Exception failure) when (DiskFailure.Is(failure))
            {
                return Refuse(file, 0, $"{file.Name} cannot be read: {failure.Message}");
            }
        }
        for (int i = 0; i < files.Length; i++)
        {
            using IDiskFile opened = disk.Open(names.PathOf(files[i].Name), DiskOpen.Read);
            _window.Open(opened, done => Volatile.Write(ref _bytesRead, done + _reports.Sum(r => r.Length)));
            (long units, long unverified, long firstLsn) = (_state.Units, _state.UnverifiedUnits, _state.Lsn);
            bool wasKnown = _state.IsLsnKnown;
            FileResult result = ReadFile(opened, files[i], sink, out ulong? salt);
            (string? name, ManifestFileKind kind) = (files[i].Name, files[i].Kind);
            _reports.Add(new(name, kind, opened.Length, result.Kept, _state.Units - units, _state.UnverifiedUnits - unverified)
            {
                HoldsNothing = _state.Units == units && _state.Lsn == firstLsn && wasKnown,
                IsOurs = salt is not null,
                IsSealed = _state.Durable == _state.Lsn && result.Kept == opened.Length,
            });
            if (i == files.Length - 1 || result.End != FileEnd.Whole)
            {
                if (sink.Complete() is { } error) return Refuse(files[i], result.Kept, error);
            }
            if (result.End == FileEnd.Refused && (!options.AcceptDamage || files[i].Kind == ManifestFileKind.Base))
                return Refuse(files[i], result.Kept, result.Reason);
            if (result.End != FileEnd.Whole) return Judge(files, i, result, salt);
        }
        return new() { Outcome = JournalOutcome.Clean, Files = _reports, Lsn = _state.Lsn };
    }

    private FileResult ReadFile(IDiskFile opened, ManifestFile file, IJournalSink sink, out ulong? salt)
    {
        salt = null;
        _state.Database = 0;
        _state.Durable = -1;
        _window.Fill(Math.Min(_window.Length, 5));
        if (_window.Bytes.StartsWith("REDIS"u8))
        {
            if (file.Kind != ManifestFileKind.Base) return new(FileEnd.Refused, 0, "an RDB is in the place of an increment");
            string? error = sink.LoadSnapshot(opened, file.Name, out long end, out long lsn);
            if (error is not null) return new(FileEnd.Refused, end, error);
            if (lsn > StreamState.MaxLsn) return StreamState.OutOfRange(lsn, 0);
            _state.Lsn = Math.Max(lsn, 0);
            _state.IsLsnKnown = lsn >= 0;
            _window.MoveTo(end);
            return OfBase(CommandRegion.Read(_window, _state, sink), isOurs: lsn >= 0);
        }
        if (file.Kind == ManifestFileKind.Base && file.Name.EndsWith(".rdb", StringComparison.Ordinal))
            return new(FileEnd.Refused, 0, "the base is not an RDB");
        if (IncrementReader.TryReadHeader(_window, out ulong found, out bool isOurs, out FileResult result))
        {
            salt = found;
            FileResult content = IncrementReader.Read(_window, found, _state, sink);
            return content.End == FileEnd.Whole && LacksBeginning(file)
                ? new(FileEnd.Damaged, FileHeader.Length, "no group follows the file's header")
                : content;
        }
        if (isOurs)
        {
            // No base begins with a header, so it cannot have the remains of one. A power loss may leave zeros.
            if (file.Kind == ManifestFileKind.Base && TailScan.EndWithoutZeros(_window, 0) > 0)
                return new(FileEnd.Refused, 0, IncrementReader.NoBeginning);
            salt = found;
            return result;
        }
        _window.MoveTo(0);
        if (file.Kind == ManifestFileKind.Base) return ReadCommandBase(file, sink);
        return file.HasHeader ? new(FileEnd.Damaged, 0, "the file's header is missing") : CommandRegion.Read(_window, _state, sink);
    }

    /// <summary>
    /// The result of a base. One of this server was durable before the manifest named it, and nothing is appended to it, so no power loss
    /// explains that it is damaged or cut.
    /// </summary>
    private static FileResult OfBase(FileResult read, bool isOurs) => isOurs && read.End != FileEnd.Whole ? read with { End = FileEnd.Refused } : read;

    /// <summary>Reads a base of commands.</summary>
    private FileResult ReadCommandBase(ManifestFile file, IJournalSink sink)
    {
        // The size of a base is unrelated to its stream position, so the position comes from its first line.
        _window.Fill(Math.Min(_window.Length, FileHeader.Length));
        long position = BasePosition.Read(_window.Bytes);
        bool hasEnd = BaseEnd.IsAnnounced(_window.Bytes);
        if (position > StreamState.MaxLsn) return StreamState.OutOfRange(position, 0);
        if (file.HasHeader && !hasEnd) return new(FileEnd.Refused, 0, "the first lines of the base are missing");
        _state.IsInOwnBase = position >= 0;
        FileResult read = OfBase(CommandRegion.Read(_window, _state, sink), isOurs: position >= 0);
        _state.IsInOwnBase = false;
        if (position >= 0) _state.Lsn = position;
        _state.IsLsnKnown = position >= 0;
        if (position >= 0 && read.End != FileEnd.Whole) return read;
        return hasEnd && !BaseEnd.Matches(_window)
            ? new(FileEnd.Refused, read.Kept, "the checksum at the end of the base does not match")
            : read;
    }

    /// <summary>
    /// Returns true if not even the first mark of a file was read that was durable before the manifest named the file. No power
    /// loss explains that.
    /// </summary>
    private bool LacksBeginning(ManifestFile file) => file.HasHeader && _state.Durable < 0;

    /// <summary>Decides whether a power loss explains the early end of a file.</summary>
    private JournalReport Judge(ManifestFile[] files, int index, FileResult damage, ulong? salt)
    {
        ManifestFile file = files[index];
        (long mark, string? markFile, long markOffset) = (-1L, file.Name, 0L);
        long lost = TailScan.Substance(_window, salt ?? 0, damage.Kept);
        if (salt is not null && damage.End == FileEnd.Damaged)
        {
            (mark, markOffset, long redisAt) = TailScan.Survivors(_window, salt.Value, damage.Kept);
            if (redisAt >= 0 && !options.AcceptDamage)
                return Refuse(file, damage.Kept, $"{damage.Reason}, but redis-server continued this file at offset {redisAt}");
        }
        var dropped = new List<string>();
        foreach (ManifestFile later in files[(index + 1)..])
        {
            using IDiskFile opened = disk.Open(names.PathOf(later.Name), DiskOpen.Read);
            _window.Open(opened, static _ => { });
            dropped.Add(later.Name);
            bool hasHeader = IncrementReader.TryReadHeader(_window, out ulong laterSalt, out bool isOurs, out _);
            if (hasHeader || isOurs)
            {
                TailFindings found = TailScan.Survivors(_window, laterSalt, FileHeader.Length);
                if (found.Durable > mark) (mark, markFile, markOffset) = (found.Durable, later.Name, found.Offset);
                lost += TailScan.Substance(_window, laterSalt, FileHeader.Length);
            }
            else if (TailScan.Substance(_window, 0, 0) > 0 && !options.AcceptDamage)
            {
                return Refuse(file, damage.Kept, $"{damage.Reason}, and the later file {later.Name} cannot be cut");
            }
        }
        if (mark > _state.Lsn && !options.AcceptDamage)
        {
            string known = $"the journal was durable up to {mark} (according to {markFile} at offset {markOffset})";
            return Refuse(file, damage.Kept, $"{damage.Reason}; the valid part ends at position {_state.Lsn}, but {known}");
        }
        if (LacksBeginning(file))
        {
            if (!options.AcceptDamage)
                return Refuse(file, damage.Kept, damage.Reason + "; the beginning of the file was durable before the manifest named it");

            // How much the file had is unknown, so it counts as a loss even if no bytes are left.
            dropped.Insert(0, file.Name);
            damage = damage with { Reason = damage.Reason + "; all that the file had is lost" };
        }
        if (lost > 0 && !options.LoadTruncated) return Refuse(file, damage.Kept, damage.Reason + "; 'aof-load-truncated' is off");
        return new()
        {
            Outcome = JournalOutcome.Cut,
            Reason = damage.Reason,
            File = file.Name,
            Offset = damage.Kept,
            CutBytes = lost,
            Files = _reports,
            DroppedFiles = dropped,
            Lsn = _state.Lsn,
        };
    }

    private JournalReport Refuse(ManifestFile file, long offset, string reason) => new()
    {
        Outcome = JournalOutcome.Refused,
        Reason = reason,
        File = file.Name,
        Offset = offset,
        Files = _reports,
        Lsn = _state.Lsn,
    };
}
