using System.Globalization;

namespace RedisClone.Scheduling;

/// <summary>What the kernel knows about the time of a thread.</summary>
public static class ThreadTimes
{
    /// <summary>
    /// How long the calling thread has run and has waited for a processor; zero if the system does not report it.
    /// </summary>
    public static (TimeSpan Ran, TimeSpan Waited) Own()
    {
        const string path = "/proc/thread-self/schedstat";
        try
        {
            string[] words = File.Exists(path) ? File.ReadAllText(path).Split(' ') : [];
            return words.Length > 1 && TryRead(words[0], out TimeSpan ran) && TryRead(words[1], out TimeSpan waited) ? (ran, waited) : default;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            return default;
        }
    }

    private static bool TryRead(string nanoseconds, out TimeSpan time)
    {
        bool isNumber = long.TryParse(nanoseconds, CultureInfo.InvariantCulture, out long count);
        time = TimeSpan.FromMicroseconds(count / 1000);
        return isNumber;
    }
}
