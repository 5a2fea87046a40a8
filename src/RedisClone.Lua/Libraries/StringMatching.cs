using System.Buffers;
using RedisClone.Lua.Running;
using RedisClone.Lua.Values;

namespace RedisClone.Lua.Libraries;

/// <summary>The string functions that use patterns.</summary>
internal static class StringMatching
{
    private const int LeastPlaces = 64, ComparedAtOnce = 1 << 22, BytesPerStep = 4096;

    private static readonly SearchValues<byte> s_special = SearchValues.Create("^$*+?.([%-"u8);

    public static int Find(ref LuaCall call) => FindOrMatch(ref call, find: true);

    public static int Match(ref LuaCall call) => FindOrMatch(ref call, find: false);

    public static int GlobalMatch(ref LuaCall call)
    {
        LuaString source = call.CheckString(1);
        LuaString pattern = call.CheckString(2);
        if (call.Failed) return 0;
        if (!call.Meter.TryCharge(LuaHostFunction.SizeOf(3))) return call.OutOfMemory();
        return call.Return(new LuaHostFunction(NextMatch, source, pattern, 0));
    }

    public static int Substitute(ref LuaCall call)
    {
        LuaString source = call.CheckString(1);
        LuaString pattern = call.CheckString(2);
        LuaType kind = call[3].Type;
        int most = call.OptionalInt(4, source.Length + 1);
        call.Check(
            kind is LuaType.Number or LuaType.String or LuaType.Function or LuaType.Table, 3, "string/function/table expected");
        if (kind == LuaType.Number) call.CheckString(3);
        if (call.Failed) return 0;
        ReadOnlySpan<byte> text = source.Span;
        call.Meter.Work(pattern.Length);
        var matcher = new PatternMatcher(call.State, text, pattern.Span);
        var result = new TextBuilder(call.Meter, text.Length);
        int at = 0, count = 0;
        while (count < most)
        {
            int end = matcher.MatchAt(at);
            if (end >= 0)
            {
                count++;
                AppendReplacement(ref call, ref matcher, ref result, text, at, end);
            }
            if (IsStopped(ref call, ref matcher) || result.Overflowed) break;
            if (end > at) at = end;
            else if (at < text.Length) result.Append(text[at++]);
            else break;
            if (matcher.Anchored) break;
        }
        if (call.Failed)
        {
            result.Dispose();
            return 0;
        }
        result.Append(text[at..]);
        result.Return(ref call);
        call.Push(count);
        return 2;
    }

    private static int FindOrMatch(ref LuaCall call, bool find)
    {
        LuaString source = call.CheckString(1);
        LuaString pattern = call.CheckString(2);
        long start = StringLibrary.Position(call.OptionalInteger(3, 1), source.Length) - 1;
        if (call.Failed) return 0;
        int at = (int)Math.Clamp(start, 0, source.Length);
        ReadOnlySpan<byte> text = source.Span;
        call.Meter.Work(pattern.Length);
        if (find && (!call[4].IsFalsy || IsPlain(pattern.Span)))
        {
            return FindPlain(ref call, text, pattern.Span, at);
        }
        var matcher = new PatternMatcher(call.State, text, pattern.Span);
        do
        {
            int end = matcher.MatchAt(at);
            if (end >= 0)
            {
                if (!find) return PushCaptures(ref call, ref matcher, text, at, end, wholeIfNone: true);
                call.Push(at + 1);
                call.Push(end);
                return PushCaptures(ref call, ref matcher, text, at, end, wholeIfNone: false) + 2;
            }
            if (IsStopped(ref call, ref matcher)) return 0;
        }
        while (at++ < text.Length && !matcher.Anchored);
        return call.Return(LuaValue.Nil);
    }

    /// <summary>
    /// Searches for a plain string in portions. The portions are small if each comparison may be long: a text that
    /// almost matches everywhere makes the search slow, so the work is counted per portion.
    /// </summary>
    private static int FindPlain(ref LuaCall call, ReadOnlySpan<byte> text, ReadOnlySpan<byte> sought, int at)
    {
        int places = Math.Max(LeastPlaces, ComparedAtOnce / Math.Max(1, sought.Length));
        for (long from = at; from <= text.Length - sought.Length; from += places)
        {
            int length = (int)Math.Min(text.Length - from, (long)places + sought.Length - 1);
            if (!call.Spend((int)(length / 64 + (long)places * sought.Length / BytesPerStep))) return 0;
            int found = text.Slice((int)from, length).IndexOf(sought);
            if (found < 0) continue;
            found += (int)from;
            call.Push(found + 1);
            call.Push(found + sought.Length);
            return 2;
        }
        return call.Return(LuaValue.Nil);
    }

    /// <summary>The iterator of <c>gmatch</c>. Its upvalues are the string, the pattern and the position.</summary>
    private static int NextMatch(ref LuaCall call)
    {
        LuaValue[] upvalues = call.Function.Upvalues;
        ReadOnlySpan<byte> text = upvalues[0].AsString!.Span;
        call.Meter.Work(upvalues[1].AsString!.Length);
        var matcher = new PatternMatcher(call.State, text, upvalues[1].AsString!.Span);
        for (int at = (int)upvalues[2].Number; at <= text.Length; at++)
        {
            int end = matcher.MatchAt(at, anchors: false);
            if (IsStopped(ref call, ref matcher)) return 0;
            if (end < 0) continue;
            upvalues[2] = end == at ? end + 1 : end;
            return PushCaptures(ref call, ref matcher, text, at, end, wholeIfNone: true);
        }
        return 0;
    }

    private static bool IsPlain(ReadOnlySpan<byte> pattern)
    {
        int special = pattern.IndexOfAny(s_special);
        if (special < 0) return true;
        int zero = pattern.IndexOf((byte)0);
        return zero >= 0 && zero < special;
    }

    private static bool IsStopped(ref LuaCall call, ref PatternMatcher matcher)
    {
        if (matcher.Error is { } error) call.Error(error);
        else if (matcher.Aborted) call.Propagate();
        return call.Failed;
    }

    private static int PushCaptures(
        ref LuaCall call, ref PatternMatcher matcher, ReadOnlySpan<byte> text, int start, int end, bool wholeIfNone)
    {
        int count = matcher.CaptureCount == 0 && wholeIfNone ? 1 : matcher.CaptureCount;
        call.EnsureRoom(count, "too many captures");
        for (int i = 0; i < count && !call.Failed; i++) PushCapture(ref call, ref matcher, text, i, start, end);
        return count;
    }

    private static void PushCapture(
        ref LuaCall call, ref PatternMatcher matcher, ReadOnlySpan<byte> text, int index, int start, int end)
    {
        (int from, int length) = matcher.Capture(index, start, end);
        if (IsStopped(ref call, ref matcher)) return;
        if (length < 0) call.Push(from + 1);
        else call.Push(text.Slice(from, length));
    }

    private static void AppendReplacement(
        ref LuaCall call, ref PatternMatcher matcher, ref TextBuilder result, ReadOnlySpan<byte> text, int start, int end)
    {
        if (call[3].Tag is LuaString template)
        {
            AppendTemplate(ref call, ref matcher, ref result, text, template.Span, start, end);
            return;
        }
        LuaValue value;
        if (call[3].Tag is LuaTable table)
        {
            PushCapture(ref call, ref matcher, text, 0, start, end);
            if (call.Failed) return;
            if (!call.Thread.Index(table, call.Pop(), -1, out value))
            {
                call.Propagate();
                return;
            }
        }
        else
        {
            call.Push(call[3]);
            int count = PushCaptures(ref call, ref matcher, text, start, end, wholeIfNone: true);
            if (call.Failed || !call.Call(count, 1)) return;
            value = call.Pop();
        }
        if (value.IsFalsy) result.Append(text[start..end]);
        else if (value.Tag is LuaString s) result.Append(s.Span);
        else if (value.IsNumber) result.AppendNumber(value.Number);
        else call.Error($"invalid replacement value (a {value.TypeName})");
    }

    private static void AppendTemplate(
        ref LuaCall call,
        ref PatternMatcher matcher,
        ref TextBuilder result,
        ReadOnlySpan<byte> text,
        ReadOnlySpan<byte> template,
        int start,
        int end)
    {
        // All captures in the template may be empty, so the length of the template itself counts as work.
        if (!call.Spend(template.Length >> 6)) return;
        while (true)
        {
            int escape = template.IndexOf((byte)'%');
            if (escape < 0) break;
            result.Append(template[..escape]);
            // In C the character after a final % is the terminating zero byte.
            byte c = escape + 1 < template.Length ? template[escape + 1] : (byte)0;
            template = template[Math.Min(escape + 2, template.Length)..];
            if (!char.IsAsciiDigit((char)c))
            {
                result.Append(c);
                continue;
            }
            if (c == '0')
            {
                result.Append(text[start..end]);
                continue;
            }
            (int from, int length) = matcher.Capture(c - '1', start, end);
            if (IsStopped(ref call, ref matcher)) return;
            if (length < 0) result.AppendNumber(from + 1);
            else result.Append(text.Slice(from, length));
        }
        result.Append(template);
    }
}
