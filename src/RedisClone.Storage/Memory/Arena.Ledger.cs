using System.Diagnostics;
using System.Text;

namespace RedisClone.Storage.Memory;

/// <summary>
/// In Debug builds, records the source line that allocated each live buffer. A leak names its owner, and freeing a buffer twice
/// fails at once.
/// </summary>
public sealed partial class Arena
{
    private Dictionary<uint, (string Owner, int Line)>? _ledger;

    /// <summary>Whether a handle names a live buffer. Always true in a Release build, which has no ledger.</summary>
    internal bool IsLive(uint handle) => _ledger is null || _ledger.ContainsKey(handle);

    /// <summary>The live buffers except the expected ones, counted by the source line that allocated them.</summary>
    internal string DescribeLive(IReadOnlySet<uint> expected)
    {
        var text = new StringBuilder();
        foreach (IGrouping<(string File, int Line), uint> owner in (_ledger ?? []).Where(pair => !expected.Contains(pair.Key))
            .GroupBy(pair => pair.Value, pair => pair.Key).OrderByDescending(group => group.Count()))
            text.AppendLine($"{owner.Count()} buffers of {Path.GetFileName(owner.Key.File)}, line {owner.Key.Line}");
        return text.ToString();
    }

    [Conditional("DEBUG")]
    private void Enter(uint handle, string owner, int line) => (_ledger ??= []).Add(handle, (owner, line));

    [Conditional("DEBUG")]
    private void Leave(uint handle)
    {
        if (_ledger is null || !_ledger.Remove(handle)) Refuse();
    }

    [Conditional("DEBUG")]
    private void Poison(uint handle, int length) => Bytes(handle, length).Fill(0xDD);
}
