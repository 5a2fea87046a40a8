using System.Globalization;

namespace RedisClone.Server.Admin;

/// <summary>
/// oom-score-adj: tells Linux how soon to end this process when memory runs out. What the score was before is remembered, for the
/// relative mode and for putting it back.
/// </summary>
internal sealed class OomScore(ServerConfig config, string path = OomScore.OfThisProcess)
{
    private const string OfThisProcess = "/proc/self/oom_score_adj";
    private const int Max = 1000;

    private int? _before;

    /// <summary>Null, or why the score cannot be what the configuration says.</summary>
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
