using System.Globalization;

namespace RedisClone.Server.Studio;

/// <summary>The memory for the answers that the studio prepares or sends at the same time. Thread-safe.</summary>
/// <param name="most">The bytes of all answers.</param>
internal sealed class ReplyBudget(long most)
{
    private readonly long _most = most;
    private long _used;

    /// <summary>Begins an answer. Its memory is counted until it is disposed of.</summary>
    public Share Begin() => new(this);

    /// <summary>What one answer takes.</summary>
    internal sealed class Share(ReplyBudget budget) : IDisposable
    {
        private long _bytes;

        /// <summary>Counts bytes of the answer.</summary>
        /// <exception cref="IOException">The answer, or all of them together, take too much memory.</exception>
        public void Take(long bytes)
        {
            _bytes += bytes;
            long used = Interlocked.Add(ref budget._used, bytes);
            if (_bytes > StudioLimits.ReplyBytes)
                throw new IOException(string.Create(CultureInfo.InvariantCulture, $"The reply is longer than {StudioLimits.ReplyBytes >> 20} MB as JSON."));
            if (used > budget._most) throw new IOException("The replies to other calls take all memory that the studio may use. Try again.");
        }

        public void Dispose() => Interlocked.Add(ref budget._used, -Interlocked.Exchange(ref _bytes, 0));
    }
}
