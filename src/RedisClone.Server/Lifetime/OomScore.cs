using System.Globalization;
using RedisClone.Configuration;

namespace RedisClone.Server.Lifetime;

/// <summary>
/// Implements oom-score-adj, the priority with which Linux ends this process when memory runs out. The original score is
/// stored, as the base of the relative mode and to restore it.
/// </summary>
internal sealed class OomScore(ServerConfig config, string path = OomScore.OfThisProcess)
{
    private const string OfThisProcess = "/proc/self/oom_score_adj";
    private const int Max = 1000;

    private int? _before;

    /// <summary>Applies the configured score. Returns null, or the reason for the failure.</summary>
    public string? Apply()
    {
        if (config.OomScoreAdj == OomScoreMode.No && _before is null) return null;
        try
        {
            int before = _before ?? int.Parse(File.ReadAllText(path), CultureInfo.InvariantCulture);
            int score = config.OomScoreAdj switch
            {
                OomScoreMode.No => before,
                OomScoreMode.Relative => before + Wanted,
                _ => Wanted,
            };
            _before = before;
            File.WriteAllText(path, Math.Clamp(score, -Max, Max).ToString(CultureInfo.InvariantCulture));
            if (config.OomScoreAdj == OomScoreMode.No) _before = null;
            return null;
        }
        catch (Exception e) when (e is IOException or UnauthorizedAccessException or FormatException)
        {
            return "Failed to set current oom_score_adj. Check server logs.";
        }
    }

    private int Wanted => config.OomScoreAdjValues[config.ReplicaOf is null ? 0 : 1];
}
