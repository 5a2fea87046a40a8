using System.Globalization;

namespace RedisClone.Server.Studio;

/// <summary>The memory for the bodies of calls, or for the answers, that the studio holds at the same time. Thread-safe.</summary>
/// <param name="most">The bytes of all of them.</param>
internal sealed class StudioBudget(long most)
{
    private readonly long _most = most;
    private long _used;

    /// <summary>Begins a body or an answer. Its memory is counted until it is disposed of.</summary>
    public Share Begin() => new(this);

    /// <summary>What one body or answer takes.</summary>
    internal sealed class Share(StudioBudget budget) : IDisposable
    {
        private long _bytes;

        /// <summary>Counts bytes. Returns false if all together take more than they may.</summary>
        public bool TryTake(long bytes)
        {
            _bytes += bytes;
            return Interlocked.Add(ref budget._used, bytes) <= budget._most;
        }

        /// <summary>Counts bytes of an answer.</summary>
        /// <exception cref="IOException">The answer, or all of them together, take too much memory.</exception>
        public void Take(long bytes)
        {
            bool fits = TryTake(bytes);
            if (_bytes > StudioLimits.ReplyBytes)
                throw new IOException(string.Create(CultureInfo.InvariantCulture, $"The reply is longer than {StudioLimits.ReplyBytes >> 20} MB as JSON."));
            if (!fits) throw new IOException("The replies to other calls take all memory that the studio may use. Try again.");
        }

        public void Dispose() => Interlocked.Add(ref budget._used, -Interlocked.Exchange(ref _bytes, 0));
    }
}
