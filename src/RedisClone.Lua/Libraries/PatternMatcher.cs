using System.Runtime.CompilerServices;
using RedisClone.Lua.Running;

namespace RedisClone.Lua.Libraries;

/// <summary>
/// Matches one Lua pattern against one string by backtracking. The work is counted. The recursion has one level for
/// each pattern item that may be retried, and its depth is limited. The first error is recorded and ends the match.
/// </summary>
internal ref struct PatternMatcher
{
    private const byte Escape = (byte)'%';
    private const int Unfinished = -1;
    private const int PositionCapture = -2;
    private const int StepsPerCharge = 256;

    private readonly LuaState _state;
    private readonly ReadOnlySpan<byte> _source;

    /// <summary>A zero byte ends the pattern, as in C.</summary>
    private readonly ReadOnlySpan<byte> _pattern;

    private Captures _captures;
    private int _depth;
    private int _steps;

    public PatternMatcher(LuaState state, ReadOnlySpan<byte> source, ReadOnlySpan<byte> pattern)
    {
        _state = state;
        _source = source;
        int zero = pattern.IndexOf((byte)0);
        _pattern = zero < 0 ? pattern : pattern[..zero];
        Anchored = _pattern.Length > 0 && _pattern[0] == '^';
    }

    public readonly bool Anchored { get; }

    public int CaptureCount { get; private set; }

    /// <summary>The error in the pattern, or null.</summary>
    public string? Error { get; private set; }

    /// <summary>True if the host ended the script.</summary>
    public bool Aborted { get; private set; }

    public readonly bool Stopped => Error is not null || Aborted;

    /// <summary>Matches at a position. Returns the end of the match, or -1.</summary>
    public int MatchAt(int position, bool anchors = true)
    {
        CaptureCount = 0;
        _depth = 0;
        int end = Match(position, anchors && Anchored ? 1 : 0);
        // The last item may have been a long one, such as %b.
        return _steps < StepsPerCharge || Charge() ? end : -1;
    }

    /// <summary>
    /// Returns a capture. If the pattern has no captures, the first one is the whole match. A position capture has
    /// length -2.
    /// </summary>
    public (int Start, int Length) Capture(int index, int start, int end)
    {
        if (index >= CaptureCount)
        {
            if (index != 0) Error ??= "invalid capture index";
            return (start, end - start);
        }
        (int Start, int Length) capture = _captures[index];
        if (capture.Length == Unfinished) Error ??= "unfinished capture";
        return capture;
    }

    private readonly byte At(int p) => p < _pattern.Length ? _pattern[p] : (byte)0;

    private int Match(int s, int p)
    {
        if (++_depth > LuaLimits.PatternDepth) Error ??= "pattern too complex";
        int result = Stopped ? -1 : MatchItems(s, p);
        _depth--;
        return result;
    }

    private int MatchItems(int s, int p)
    {
        while (true)
        {
            if (!Count()) return -1;
            switch (At(p))
            {
                case 0:
                    return s;
                case (byte)'(':
                    return At(p + 1) == ')' ? StartCapture(s, p + 2, PositionCapture) : StartCapture(s, p + 1, Unfinished);
                case (byte)')':
                    return EndCapture(s, p + 1);
                case (byte)'$' when p + 1 == _pattern.Length:
                    return s == _source.Length ? s : -1;
                case Escape when At(p + 1) == 'b':
                    s = MatchBalance(s, p + 2);
                    if (s < 0) return -1;
                    p += 4;
                    continue;
                case Escape when At(p + 1) == 'f':
                    p += 2;
                    if (At(p) != '[') return Fail("missing '[' after '%f' in pattern");
                    int set = ClassEnd(p);
                    if (set < 0) return -1;
                    _steps += WeightOf(p, set);
                    byte previous = s == 0 ? (byte)0 : _source[s - 1];
                    byte next = s < _source.Length ? _source[s] : (byte)0;
                    if (MatchSet(previous, p, set - 1) || !MatchSet(next, p, set - 1)) return -1;
                    p = set;
                    continue;
                case Escape when char.IsAsciiDigit((char)At(p + 1)):
                    s = MatchCapture(s, At(p + 1));
                    if (s < 0) return -1;
                    p += 2;
                    continue;
            }
            int end = ClassEnd(p);
            if (end < 0) return -1;
            _steps += WeightOf(p, end);
            bool matches = s < _source.Length && MatchSingle(_source[s], p, end);
            switch (At(end))
            {
                case (byte)'?':
                    if (matches)
                    {
                        int result = Match(s + 1, end + 1);
                        if (result >= 0 || Stopped) return result;
                    }
                    p = end + 1;
                    continue;
                case (byte)'*':
                    return ExpandMost(s, p, end);
                case (byte)'+':
                    return matches ? ExpandMost(s + 1, p, end) : -1;
                case (byte)'-':
                    return ExpandLeast(s, p, end);
                default:
                    if (!matches) return -1;
                    s++;
                    p = end;
                    continue;
            }
        }
    }

    private int ExpandMost(int s, int p, int end)
    {
        int most = s;
        byte mask;
        if (_pattern[p] == '.')
        {
            most = _source.Length;
        }
        else if (_pattern[p] == Escape && (mask = CharacterClass.Mask(_pattern[p + 1])) != 0)
        {
            bool wanted = char.IsAsciiLetterLower((char)_pattern[p + 1]);
            while (most < _source.Length && CharacterClass.Has(_source[most], mask) == wanted) most++;
        }
        else
        {
            int weight = WeightOf(p, end);
            for (; most < _source.Length && MatchSingle(_source[most], p, end); most++)
            {
                _steps += weight;
                if (_steps >= StepsPerCharge && !Count()) return -1;
            }
        }
        _steps += (most - s) / 8;
        for (; most >= s; most--)
        {
            int result = Match(most, end + 1);
            if (result >= 0 || Stopped) return result;
        }
        return -1;
    }

    private int ExpandLeast(int s, int p, int end)
    {
        while (true)
        {
            int result = Match(s, end + 1);
            if (result >= 0 || Stopped) return result;
            if (s >= _source.Length || !MatchSingle(_source[s], p, end)) return -1;
            _steps += WeightOf(p, end);
            s++;
        }
    }

    private int StartCapture(int s, int p, int what)
    {
        if (CaptureCount >= LuaLimits.Captures) return Fail("too many captures");
        _captures[CaptureCount++] = (s, what);
        int result = Match(s, p);
        if (result < 0) CaptureCount--;
        return result;
    }

    private int EndCapture(int s, int p)
    {
        int open = CaptureCount - 1;
        while (open >= 0 && _captures[open].Length != Unfinished) open--;
        if (open < 0) return Fail("invalid pattern capture");
        _captures[open].Length = s - _captures[open].Start;
        int result = Match(s, p);
        if (result < 0) _captures[open].Length = Unfinished;
        return result;
    }

    private int MatchCapture(int s, byte digit)
    {
        int index = digit - '1';
        if (index < 0 || index >= CaptureCount || _captures[index].Length == Unfinished) return Fail("invalid capture index");
        (int start, int length) = _captures[index];
        // In C the length of a position capture is larger than any string, so it never matches.
        if (length < 0 || length > _source.Length - s) return -1;
        _steps += length / 64;
        return _source.Slice(start, length).SequenceEqual(_source.Slice(s, length)) ? s + length : -1;
    }

    private int MatchBalance(int s, int p)
    {
        if (p + 1 >= _pattern.Length) return Fail("unbalanced pattern");
        byte open = _pattern[p], close = _pattern[p + 1];
        if (s >= _source.Length || _source[s] != open) return -1;
        int depth = 1;
        for (int i = s + 1; i < _source.Length; i++)
        {
            byte c = _source[i];
            if (c == close)
            {
                if (--depth > 0) continue;
                _steps += (i - s) / 8;
                return i + 1;
            }
            else if (c == open)
            {
                depth++;
            }
        }
        _steps += (_source.Length - s) / 8;
        return -1;
    }

    /// <summary>Returns the end of the single-character item at a position.</summary>
    private int ClassEnd(int p)
    {
        switch (_pattern[p++])
        {
            case Escape:
                return p < _pattern.Length ? p + 1 : Fail("malformed pattern (ends with '%')");
            case (byte)'[':
                if (At(p) == '^') p++;
                do
                {
                    if (p >= _pattern.Length) return Fail("malformed pattern (missing ']')");
                    if (_pattern[p++] == Escape && p < _pattern.Length) p++;
                }
                while (At(p) != ']');
                return p + 1;
            default:
                return p;
        }
    }

    /// <summary>
    /// Returns the number of steps for comparing a character with an item, in addition to the step of every item. A set
    /// may be as long as any string.
    /// </summary>
    private static int WeightOf(int p, int end) => (end - p) / 16;

    private readonly bool MatchSingle(byte c, int p, int end) => _pattern[p] switch
    {
        (byte)'.' => true,
        Escape => MatchClass(c, _pattern[p + 1]),
        (byte)'[' => MatchSet(c, p, end - 1),
        byte literal => literal == c,
    };

    /// <summary>Matches a character against the set between two bracket positions.</summary>
    private readonly bool MatchSet(byte c, int p, int last)
    {
        bool positive = true;
        if (At(p + 1) == '^')
        {
            positive = false;
            p++;
        }
        while (++p < last)
        {
            if (_pattern[p] == Escape)
            {
                p++;
                if (MatchClass(c, At(p))) return positive;
            }
            else if (At(p + 1) == '-' && p + 2 < last)
            {
                p += 2;
                if (_pattern[p - 2] <= c && c <= _pattern[p]) return positive;
            }
            else if (_pattern[p] == c)
            {
                return positive;
            }
        }
        return !positive;
    }

    private static bool MatchClass(byte c, byte name)
    {
        byte mask = CharacterClass.Mask(name);
        if (mask == 0) return (name | 0x20) == 'z' ? (c == 0) == (name == 'z') : name == c;
        return CharacterClass.Has(c, mask) == char.IsAsciiLetterLower((char)name);
    }

    private int Fail(string message)
    {
        Error ??= message;
        return -1;
    }

    private bool Count()
    {
        return ++_steps < StepsPerCharge || Charge();
    }

    private bool Charge()
    {
        Aborted |= !_state.Spend(_steps / 2);
        _steps = 0;
        return !Aborted;
    }

    [InlineArray(LuaLimits.Captures)]
    private struct Captures
    {
        private (int Start, int Length) _first;
    }
}
