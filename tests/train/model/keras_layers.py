"""Models of one layer or a few, for each kind of layer that liana has, in each of Keras's files.

    keras_layers.py keras|tf_keras make FOLDER     writes NAME.keras, .h5, .weights.h5, .json and NAME.case.json
    keras_layers.py keras|tf_keras check FOLDER    loads NAME.*.keras and NAME.*.h5 again, and compares outputs

LIANA_KERAS_LAYERS is a regular expression: only models of these names.

tests/train/model/test_keras_layers.c runs both; between them liana loads the files of the first, compares its
predictions, and writes those of the second. A case is {"inputs": [{"name", "shape", "dtype", "values"}], "outputs":
[number, ...]}: of a model with several outputs those of an example lie one after the other.
"""
import importlib
import json
import os
import re
import sys
import warnings

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy as np

warnings.simplefilter("ignore")
NAME, ACTION, FOLDER = sys.argv[1:4]
OLD = NAME == "tf_keras"
keras = importlib.import_module(NAME)
EXAMPLES = 4
L=keras.layers
rng=np.random.default_rng(3)
def seq(shape,*ls,dtype=None,name=None):
    return keras.Sequential([keras.Input(shape,dtype=dtype)]+list(ls),name=name)
def fun(f,*shapes,dtypes=None):
    ins=[keras.Input(s,name=f"in{i}",dtype=(dtypes or [None]*9)[i]) for i,s in enumerate(shapes)]
    return keras.Model(ins if len(ins)>1 else ins[0],f(*ins))
img=(9,8,4)
M={}
for pad in("same","valid"):
    M[f"conv_{pad}"]=seq(img,L.Conv2D(6,(3,2),strides=(2,1),padding=pad,activation="relu"))
    M[f"dw_{pad}"]=seq(img,L.DepthwiseConv2D(3,padding=pad,depth_multiplier=2))
    M[f"sep_{pad}"]=seq(img,L.SeparableConv2D(5,3,padding=pad,depth_multiplier=2,activation="swish"))
    M[f"maxp_{pad}"]=seq(img,L.MaxPooling2D((3,2),strides=2,padding=pad))
    M[f"avgp_{pad}"]=seq(img,L.AveragePooling2D(2,padding=pad))
M["conv_groups"]=seq(img,L.Conv2D(6,3,groups=2,use_bias=False))
M["conv_dil"]=seq(img,L.Conv2D(6,2,dilation_rate=(2,3)))
M["dw_dil"]=seq(img,L.DepthwiseConv2D(2,dilation_rate=2,use_bias=False))
M["dw_stride"]=seq(img,L.DepthwiseConv2D(3,strides=2,padding="same",activation="relu6"))
M["sep_dil"]=seq(img,L.SeparableConv2D(4,2,dilation_rate=(2,2),use_bias=False))
M["dense"]=seq((7,),L.Dense(5,activation="softmax"))
M["dense3"]=seq((4,7),L.Dense(5,use_bias=False))
for a in "linear relu relu6 sigmoid hard_sigmoid tanh softmax swish silu elu selu softplus softsign exponential".split():
    if OLD and a in("relu6","silu"): continue
    M["act_"+a]=seq((6,),L.Activation(a))
    M["dense_"+a]=seq((6,),L.Dense(4,activation=a))
M["relu"]=seq(img,L.ReLU()); M["relu_all"]=seq(img,L.ReLU(max_value=2.5,negative_slope=.1,threshold=.3))
M["leaky"]=seq(img,L.LeakyReLU()); M["leaky2"]=seq(img,L.LeakyReLU(.17))
M["softmax"]=seq((3,6),L.Softmax(axis=1)); M["softmax2"]=seq((6,),L.Softmax())
M["bn"]=seq(img,L.BatchNormalization()); M["bn2"]=seq((6,),L.BatchNormalization(axis=1,epsilon=1e-5,center=False)); M["bn3"]=seq((5,6),L.BatchNormalization(scale=False,axis=[-1] if OLD else -1))
M["bn_axis3"]=seq(img,L.BatchNormalization(axis=3,momentum=.9))
M["drop"]=seq(img,L.Dropout(.3),L.Flatten()); M["drop_ns"]=seq(img,L.Dropout(.3,noise_shape=(None,1,1,4)))
M["actreg"]=seq((5,),L.ActivityRegularization(l1=.1))
M["gap2"]=seq(img,L.GlobalAveragePooling2D()); M["gap2k"]=seq(img,L.GlobalAveragePooling2D(keepdims=True)); M["gmp2"]=seq(img,L.GlobalMaxPooling2D()); M["gmp2k"]=seq(img,L.GlobalMaxPooling2D(keepdims=True))
M["gap1"]=seq((5,3),L.GlobalAveragePooling1D()); M["gmp1"]=seq((5,3),L.GlobalMaxPooling1D())
M["zp"]=seq(img,L.ZeroPadding2D(((1,2),(3,0)))); M["zp1"]=seq(img,L.ZeroPadding2D(2)); M["zp2"]=seq(img,L.ZeroPadding2D((1,2)))
M["flatten"]=seq(img,L.Flatten()); M["reshape"]=seq(img,L.Reshape((-1,8))); M["reshape2"]=seq((12,),L.Reshape((3,4)))
M["resc"]=seq(img,L.Rescaling(.1,offset=-.5)); M["rescl"]=seq(img,L.Rescaling([.1,.2,.3,.4],offset=[1.,2.,3.,4.]))
def normal():
    n=L.Normalization(axis=-1); m=seq(img,n); n.adapt(rng.normal(2,3,(20,)+img).astype("f4")); return m
M["norm"]=normal()
M["emb"]=seq((5,),L.Embedding(11,4),dtype="int32"); M["emb_mask"]=seq((5,),L.Embedding(11,4,mask_zero=True),L.GlobalAveragePooling1D(),dtype="int32")
M["emb_float"]=seq((5,),L.Embedding(11,4))
for om in ("one_hot","multi_hot","count"):
    M["cat_"+om]=seq((1,) if om=="one_hot" else (5,),L.CategoryEncoding(num_tokens=11,output_mode=om),dtype="int32")
M["add"]=fun(lambda a,b:L.Add()([a,b]),(4,),(4,)); M["mul"]=fun(lambda a,b:L.Multiply()([a,b]),(4,3),(4,3)); M["cat"]=fun(lambda a,b:L.Concatenate()([a,b]),(4,),(3,)); M["cat1"]=fun(lambda a,b:L.Concatenate(axis=1)([a,b]),(4,2),(3,2))
M["add_ranks"]=fun(lambda a,b:L.Add()([a,b]),(5,4,3),(4,3))
for op in ("Average","Maximum","Minimum","Multiply"):
    layer=getattr(L,op)
    M[op.lower()+"3"]=fun(lambda a,b,c,layer=layer:layer()([a,b,c]),(4,3),(1,3),(4,1))
    M["emb_"+op.lower()]=fun(lambda a,b,c,layer=layer:L.GlobalAveragePooling1D()(layer()([L.Embedding(11,3,mask_zero=True)(a),L.Embedding(11,3,mask_zero=True)(b),L.Dense(3)(c)])),(6,),(6,),(6,2),dtypes=["int32","int32",None])
    M["emb_all_"+op.lower()]=fun(lambda a,b,layer=layer:L.GlobalAveragePooling1D()(layer()([L.Embedding(11,3,mask_zero=True)(a),L.Embedding(11,3,mask_zero=True)(b)])),(6,),(6,),dtypes=["int32","int32"])
M["subtract"]=fun(lambda a,b:L.Subtract()([a,b]),(4,3),(4,1))
M["dot1"]=fun(lambda a,b:L.Dot(axes=1)([a,b]),(4,),(4,)); M["dot_norm"]=fun(lambda a,b:L.Dot(axes=-1,normalize=True)([a,b]),(4,6),(6,))
M["dot_pair"]=fun(lambda a,b:L.Dot(axes=(1,2))([a,b]),(3,5),(6,3)); M["dot_four"]=fun(lambda a,b:L.Dot(axes=(2,1),normalize=True)([a,b]),(2,3,4),(3,5,2))
M["permute"]=seq((3,4,2),L.Permute((3,1,2))); M["repeat"]=seq((4,),L.RepeatVector(3)); M["identity"]=seq((4,),L.Identity())
M["masking"]=seq((5,2),L.Masking(),L.GlobalAveragePooling1D()); M["masking2"]=seq((5,2),L.Masking(mask_value=1.5),L.Dense(3),L.GlobalAveragePooling1D())
M["flatten_first"]=seq(img,L.Flatten(data_format="channels_first"))
M["noise"]=seq((5,4),L.SpatialDropout1D(.3),L.GaussianDropout(.2,seed=3),L.GaussianNoise(.1),L.AlphaDropout(.1,noise_shape=(None,1,4)),L.Dropout(.2,seed=7))
M["spatial"]=seq(img,L.SpatialDropout2D(.3),L.Reshape((3,3,8,4)),L.SpatialDropout3D(.4,seed=5))
C=importlib.import_module(NAME+".src.applications.convnext")
S=importlib.import_module(NAME+".src.applications.inception_resnet_v2")
CLASSES={"LayerScale":C.LayerScale,"StochasticDepth":C.StochasticDepth,"CustomScaleLayer":S.CustomScaleLayer} # Keras reads them in no .h5 without
M["residual"]=seq(img,C.LayerScale(.3,4),C.StochasticDepth(.2))
M["scaled"]=fun(lambda a,b:S.CustomScaleLayer(.17)([a,b]),(4,3),(4,3)); M["scaled_bcast"]=fun(lambda a,b:S.CustomScaleLayer(-2)([a,b]),(4,3),(1,3))
M["add_bcast"]=fun(lambda a,b:L.Add()([a,b]),(4,3),(1,3))
M["regs"]=seq((7,),L.Dense(5,kernel_regularizer=keras.regularizers.L1L2(.1,.2),bias_regularizer="l2",activity_regularizer="l1",kernel_constraint=keras.constraints.MaxNorm(3,axis=0),bias_constraint="non_neg",kernel_initializer=keras.initializers.VarianceScaling(2.,"fan_out","untruncated_normal")))
M["regs2"]=seq((7,),L.Dense(5,kernel_regularizer=keras.regularizers.OrthogonalRegularizer(.1),kernel_constraint=keras.constraints.MinMaxNorm(.1,2.)))
def shared():
    d=L.Dense(4,name="shared"); return fun(lambda a,b:L.Add()([d(a),d(b)]),(5,),(5,))
M["shared"]=shared()
def nested():
    e=keras.Sequential([keras.Input((6,)),L.Dense(4,name="dense_in"),L.BatchNormalization()],name="enc")
    return fun(lambda a,b:L.Dense(2)(L.Concatenate()([e(a),e(b)])),(6,),(6,))
M["nested"]=nested()
def nested2():
    i=keras.Input((6,),name="q"); d=L.Dense(4)(i); f=keras.Model(i,[d,L.Dense(3)(d)],name="two")
    def g(a):
        x,y=f(a); return [L.Dense(2,name="o1")(x),L.Dense(1,name="o2")(y)]
    return fun(g,(6,))
M["nested2"]=nested2()
def nested3():
    i=keras.Sequential([L.Dense(4),L.ReLU()],name="inner"); o=keras.Sequential([i,L.Dense(3)],name="outer"); 
    m=keras.Sequential([keras.Input((5,)),o,L.Dense(2)]); return m
M["nested3"]=nested3()
steps=(5,3)
M["lstm"]=seq(steps,L.LSTM(4)); M["lstm_all"]=seq(steps,L.LSTM(4,return_sequences=True,go_backwards=True,use_bias=False,recurrent_activation="hard_sigmoid"))
M["gru"]=seq(steps,L.GRU(4)); M["gru_before"]=seq(steps,L.GRU(4,reset_after=False,return_sequences=True))
M["simple_rnn"]=seq(steps,L.SimpleRNN(4,activation="relu",name="own"))
M["rnn_stack"]=seq(steps,L.RNN([L.LSTMCell(4),L.GRUCell(3),L.LSTMCell(2)] if OLD else L.StackedRNNCells([L.LSTMCell(4),L.GRUCell(3),L.LSTMCell(2)])))
M["rnn_cell"]=seq(steps,L.RNN(L.SimpleRNNCell(4),return_sequences=True))
M["bi"]=seq(steps,L.Bidirectional(L.LSTM(4,name="own"),name="both"))
M["bi_two"]=seq(steps,L.Bidirectional(L.GRU(4,return_sequences=True),backward_layer=L.LSTM(4,go_backwards=True,return_sequences=True),merge_mode="mul"))
M["time"]=seq(steps,L.TimeDistributed(L.Dense(2)),L.TimeDistributed(L.BatchNormalization()))
M["time_seq"]=seq((3,6,5,2),L.TimeDistributed(keras.Sequential([keras.Input((6,5,2)),L.Conv2D(3,2,activation="relu"),L.Flatten(),L.Dense(4)])),L.LSTM(3))
M["conv_lstm"]=seq((3,6,5,2),L.ConvLSTM2D(3,(2,3),padding="same",return_sequences=True),L.Flatten())
M["emb_bi"]=seq((5,),L.Embedding(11,4,mask_zero=True),L.Bidirectional(L.LSTM(3,return_sequences=True),merge_mode="ave"),L.GRU(2),dtype="int32")
def states():
    def f(a,b):
        _,h,c=L.LSTM(3,return_state=True)(a)
        return L.LSTM(3)(b,initial_state=[h,c])
    return fun(f,steps,steps)
M["states"]=states()
def nested_rnn():
    e=keras.Sequential([keras.Input(steps),L.Bidirectional(L.LSTM(2)),L.Dense(3)],name="enc_rnn")
    return fun(lambda a,b:L.Add()([e(a),e(b)]),steps,steps)
M["nested_rnn"]=nested_rnn()
if not OLD:
    def dicts():
        a=keras.Input((3,),name="b_in"); b=keras.Input((3,),name="a_in")
        return keras.Model({"b_in":a,"a_in":b},{"z":L.Dense(2,name="dz")(a),"y":L.Dense(3,name="dy")(L.Concatenate()([a,b]))})
    M["dicts"]=dicts()
if OLD:
    M["dw_groups"]=seq(img,L.DepthwiseConv2D(3))
    m=keras.Sequential([L.Dense(3,input_shape=(4,)),L.Dense(2)]); M["bis"]=m
    m=keras.Sequential([L.InputLayer(input_shape=(4,)),L.Dense(2)]); M["il"]=m
else:
    m=keras.Sequential([L.InputLayer(shape=(4,)),L.Dense(2)]); M["il"]=m
    m=keras.Sequential([L.Dense(3),L.Dense(2)]); m.build((None,4)); M["built"]=m
if OLD:
    import tensorflow as tf
    M["op_bin"]=fun(lambda x:tf.concat([tf.maximum(2.-x*np.array([1.,2,3,4,5,6],"f4"),x/2.5),tf.where(x>0,x,0.)],axis=1),(4,6))
    M["op_red"]=fun(lambda x:tf.stack([tf.reduce_mean(x,axis=1),tf.reduce_max(x,axis=[1]),tf.math.reduce_std(x,axis=-2)],axis=2),(4,6))
    M["op_shape"]=fun(lambda x:tf.reshape(tf.transpose(x[:,1:,::-2],(0,2,1)),(-1,9))+tf.expand_dims(x[:,:,0],-1)[:,0],(4,6))
    M["op_nn"]=fun(lambda x:tf.matmul(tf.nn.softmax(tf.clip_by_value(x,-1,1),axis=1),tf.transpose(tf.nn.relu(x),(0,2,1))),(4,6))
    M["op_cast"]=fun(lambda x:tf.reduce_sum(tf.cast(tf.not_equal(tf.round(x),0),"float32"),axis=1)*tf.sqrt(tf.abs(tf.square(x)[:,2])),(4,6))
    M["op_pre2"]=fun(lambda x:keras.applications.mobilenet.preprocess_input(x),(5,4,3))
else:
    O=keras.ops
    def with_options(name,*arguments,**options):
        M["op_"+name+str(len(M))]=fun(lambda x:getattr(O,name)(x,*arguments,**options),(4,6))
    for name in "abs negative sign square ceil floor round trunc exp expm1 sin cos tan arctan sinh cosh tanh arcsinh erf relu relu6 sigmoid silu softplus softsign selu hard_sigmoid copy zeros_like ones_like".split(): with_options(name)
    for name in "sum mean max min prod var std argmax argmin logsumexp".split(): with_options(name,axis=1); with_options(name,axis=-1,keepdims=True)
    for name in "softmax log_softmax".split(): with_options(name,axis=1); with_options(name,axis=-1)
    for name in "add subtract multiply divide maximum minimum arctan2 logaddexp floor_divide mod".split(): with_options(name,1.7); M["op_2"+name]=fun(lambda x,name=name:getattr(O,name)(np.array([2.,-1.5,3],"f4"),x),(4,3))
    with_options("norm",ord=1,axis=1); with_options("norm",axis=-1,keepdims=True); with_options("count_nonzero",axis=1)
    with_options("expand_dims",1); with_options("expand_dims",-1); with_options("flip",axis=1); with_options("roll",2,axis=-1); with_options("repeat",3,axis=1); with_options("tile",[1,2,1]); with_options("swapaxes",1,2); with_options("moveaxis",1,2); with_options("take",[0,-1,3],axis=2); with_options("pad",[[0,0],[1,2],[0,1]]); with_options("tril",k=1); with_options("triu"); with_options("clip",-.5,.5); with_options("reshape",(-1,3,8)); with_options("transpose",(0,2,1))
    for name in "equal not_equal less less_equal greater greater_equal".split(): M["op_c"+name]=fun(lambda x,name=name:O.where(getattr(O,name)(O.round(x),1),x,O.negative(x)),(4,6))
    M["op_logic"]=fun(lambda x:O.cast(O.logical_or(O.logical_and(x>0,x<1),O.logical_not(O.any(x>3,axis=-1,keepdims=True))),"float32"),(4,6))
    M["op_positive"]=fun(lambda x:O.concatenate([O.sqrt(x),O.rsqrt(x),O.log(x),O.log1p(x),O.log2(x),O.log10(x),O.reciprocal(x),O.power(x,2.5),O.power(2.,x),O.exp2(x)],axis=1),(4,6))
    M["op_unit"]=fun(lambda x:O.stack([O.arcsin(x),O.arccos(x),O.arctanh(x),O.arccosh(x+2)],axis=-1),(4,6))
    M["op_items"]=fun(lambda x:O.concatenate([x[:,1:,::-2],x[:,:-1,3:],x[...,None,0,:3]*O.ones_like(x[:,:1,:3])],axis=1),(4,6))
    M["op_matmul"]=fun(lambda x,y:O.squeeze(O.matmul(O.matmul(x,y),np.ones((4,1),"f4")),-1),(4,6),(6,4))
    M["op_einsum"]=fun(lambda x,y:O.einsum("bij,bkj->bik",x,O.einsum("bij->bij",y)),(4,6),(3,6))
    M["op_split"]=fun(lambda x:O.concatenate(O.split(x,3,axis=2)[::-1]+[O.split(x,[1,4],axis=-1)[2]],axis=1),(4,6))
    M["op_order"]=fun(lambda x:O.concatenate([O.sort(x,axis=-1),O.cumsum(x,axis=1),O.take_along_axis(x,O.argsort(x,axis=1),axis=1),O.top_k(x,6)[0]],axis=1),(4,6))
    M["op_moments"]=fun(lambda x:O.add(*O.moments(x,axes=[1],keepdims=True))*O.unstack(x,axis=1)[2][:,None],(4,6))
    for name in "fabs cbrt deg2rad rad2deg sinc erfc isreal real conj conjugate empty_like log_sigmoid hard_tanh tanh_shrink sparse_plus sparse_sigmoid celu glu hard_shrink soft_shrink squareplus sparsemax fliplr".split(): with_options(name)
    for name in "isneginf isposinf isfinite".split(): M["op_"+name]=fun(lambda x,name=name:getattr(O,name)(x/O.relu(x)),(4,6))
    for name in "amax amin ptp median nansum nanprod nanmax nanmin nanmean nanvar nanstd nanargmax nanargmin".split():
        lost=lambda x:x if name in "amax amin ptp" else x+0.*O.sqrt(2.5-x)
        for options in ({"axis":1},{"axis":-1,"keepdims":True}): M["op_"+name+str(len(M))]=fun(lambda x,name=name,options=options,lost=lost:O.nan_to_num(getattr(O,name)(lost(x),**options),nan=-7.),(4,6))
    for q,options in ((.3,{"axis":1}),(.85,{"axis":[1,2],"keepdims":True}),(1.,{"axis":1}),(0,{"axis":1})): with_options("quantile",q,**options)
    with_options("percentile",30,axis=1)
    for q,options in ((50,{"axis":-1,"method":"nearest"}),(40,{"axis":2,"method":"lower"}),(40,{"axis":2,"method":"higher","keepdims":True}),(40,{"axis":1,"method":"midpoint"})): with_options("percentile",q,**options)
    with_options("celu",alpha=.6); with_options("glu",axis=1); with_options("hard_shrink",threshold=1.); with_options("soft_shrink",threshold=.8); with_options("squareplus",b=1.5); with_options("sparsemax",axis=1); with_options("threshold",.4,-3.)
    with_options("average",axis=1); with_options("average",axis=-1,weights=np.array([1,2,.5,0,1,3],"f4")); M["op_average"]=fun(lambda x,y:O.average(x,axis=1,weights=O.abs(y)),(4,6),(4,6))
    with_options("diff"); with_options("diff",n=2,axis=1); with_options("trapezoid"); with_options("trapezoid",dx=.5,axis=1); with_options("nancumsum",axis=1); with_options("nancumprod",axis=-1)
    with_options("normalize"); with_options("normalize",axis=1,order=1); with_options("normalize",order=3,epsilon=5.); with_options("full_like",2.5); with_options("digitize",np.array([-1.,0.,.5,3.],"f4"))
    for name in "fmax fmin fmod hypot heaviside logaddexp2".split(): with_options(name,np.array([1.7],"f4")); M["op_3"+name]=fun(lambda x,y,name=name:getattr(O,name)(x,y),(4,3),(4,3))
    M["op_ldexp"]=fun(lambda x:O.ldexp(x,O.cast(O.clip(x,-3,3),"int32")),(4,6)); M["op_close"]=fun(lambda x:O.isclose(x,O.round(x),rtol=.1,atol=.05),(4,6)); M["op_nan"]=fun(lambda x:O.nan_to_num(x/O.relu(x),nan=1.5,posinf=9,neginf=-8),(4,6))
    M["op_joined"]=fun(lambda x,y:O.hstack([O.append(x,y,axis=1),O.dstack([x[:,:,:2],y[:,:,2:]])]),(4,6),(4,6))
    for axis in (1,2): M[f"op_pieces{axis}"]=fun(lambda x,axis=axis:O.concatenate(O.array_split(x,3,axis=axis)[::-1],axis=axis),(4,7))
    M["op_hsplit"]=fun(lambda x:O.concatenate(O.hsplit(x,2)[::-1]+[O.concatenate(O.dsplit(x,[1,4])[::-1],axis=2)[:,:2]],axis=1),(4,6))
    for options in ({"axis1":1,"axis2":2},{"axis1":2,"axis2":1,"offset":1},{"axis1":-2,"axis2":-1,"offset":-2}): with_options("diagonal",**options); M["op_trace"+str(len(M))]=fun(lambda x,options=options:O.expand_dims(O.trace(x,**options),-1),(4,6))
    for k in (1,3,-1): with_options("rot90",k=k,axes=(1,2)) # TensorFlow turns only squares right by 180 degrees
    M["op_cross"]=fun(lambda x,y:O.cross(x,y),(4,3),(4,3)); M["op_space"]=fun(lambda x:O.depth_to_space(x,2),(3,2,8)); M["op_depth"]=fun(lambda x:O.space_to_depth(x,2),(4,6,3)); with_options("extract_sequences",3,2)
    M["op_multi_hot"]=fun(lambda x:O.multi_hot(O.cast(O.clip(O.abs(x),0,4),"int32"),6),(7,)); M["op_pool"]=fun(lambda x:O.concatenate([O.max_pool(x,2),O.average_pool(x,(2,3),strides=2,padding="same")[:,:3,:2]],axis=1),(6,5,3))
    for options in ({},{"is_causal":True},{"scale":.3}): M["op_attend"+str(len(M))]=fun(lambda q,k,v,options=options:O.dot_product_attention(q,k,v,**options),(5,4,3),(5,2,3),(5,2,3))
    for dtype in "float16 bfloat16 int8 uint8 int16 uint16".split(): M["op_to_"+dtype]=fun(lambda x,dtype=dtype:O.cast(O.cast(x*O.where(O.greater(x,0),90,1) if dtype[0]!="u" else O.abs(x)*90,dtype),"float32"),(4,6)); M["op_fit_"+dtype]=fun(lambda x,dtype=dtype:O.cast(O.saturate_cast(x*40000,dtype),"float32"),(4,6))
    for dtype in "int8 uint8 int16 uint16".split(): M["op_wrap_"+dtype]=fun(lambda x,dtype=dtype:O.cast(O.cast(O.cast(x*9000,"int32"),dtype),"float32"),(4,6))
    for policy in "mixed_float16 float16 mixed_bfloat16".split():  # Keras reads no bfloat16 of its own .h5
        p=dict(dtype=policy)
        M["half_"+policy]=seq((6,5,3),L.Conv2D(4,3,activation="relu",**p),L.BatchNormalization(**p),L.Flatten(**p),L.Dense(5,activation="softmax",**p))
        M["half_steps_"+policy]=seq((5,),L.Embedding(11,4,**p),L.LayerNormalization(**p),L.GRU(3,recurrent_initializer="glorot_uniform",**p),L.Dense(2,**p),dtype="int32")
    M["op_twice"]=fun(lambda x:O.add(x,x)*O.subtract(1,x)-2,(4,6))
    M["op_pre"]=fun(lambda x:keras.applications.resnet50.preprocess_input(x),(5,4,3)); M["op_pre2"]=fun(lambda x:keras.applications.mobilenet.preprocess_input(x),(5,4,3))
    M["op_mask"]=fun(lambda x:L.GlobalAveragePooling1D()(L.Embedding(11,3,mask_zero=True)(x)),(6,),dtypes=["int32"])
M["many"]=seq(img,L.Conv2D(4,3,name="c/1" if OLD else "c1"),L.BatchNormalization(),L.ReLU(6.),L.Conv2D(3,1),L.GlobalAveragePooling2D(),L.Dropout(.2),L.Dense(3,activation="softmax"))


def fill(model):
    for weight in model.weights:
        if "count" in weight.name or weight.dtype != "float32":
            continue
        low = 0.2 if "variance" in weight.name else -1
        weight.assign(rng.uniform(low, 1, weight.shape).astype("f4"))


def draw(name, model):
    arrays = []
    for tensor in model.inputs:
        shape = (EXAMPLES,) + tuple(tensor.shape[1:])
        ids = name.startswith(("emb", "cat_", "op_mask", "half_steps"))
        dtype = "i4" if "int" in str(tensor.dtype) else "f4"
        if name.startswith(("op_positive", "op_unit")):
            arrays.append(rng.uniform(.1, .9, shape).astype("f4"))
            continue
        if name.startswith("masking"):
            arrays.append(rng.choice(np.array([0, 1.5], "f4"), shape))
            continue
        arrays.append(rng.integers(0, 11, shape).astype(dtype) if ids else rng.normal(0, 2, shape).astype("f4"))
    return arrays


def predict(model, arrays):
    given = arrays if len(arrays) > 1 else arrays[0]
    if isinstance(getattr(model, "_inputs_struct", None), dict):
        given = dict(zip([tensor.name for tensor in model.inputs], arrays))
    outputs = model.predict(given, verbose=0)
    if isinstance(outputs, dict):
        outputs = [outputs[key] for key in outputs]
    elif not isinstance(outputs, (list, tuple)):
        outputs = [outputs]
    return np.concatenate([np.reshape(o, (EXAMPLES, -1)).astype("f4") for o in outputs], axis=1)


def make(name, model):
    if name != "norm":
        fill(model)
    arrays = draw(name, model)
    base = os.path.join(FOLDER, name)
    outputs = predict(model, arrays)
    model.save(base + ".keras")
    model.save(base + ".h5")
    model.save_weights(base + ".weights.h5")
    with open(base + ".json", "w") as file:
        file.write(model.to_json())
    inputs = [{"name": t.name, "shape": list(a.shape), "dtype": "int32" if a.dtype == np.int32 else "float32",
               "values": a.ravel().tolist()} for t, a in zip(model.inputs, arrays)]
    with open(base + ".case.json", "w") as file:
        json.dump({"inputs": inputs, "outputs": outputs.ravel().tolist()}, file)


def tolerance(name):
    """The rounding of Keras's float16 and bfloat16, some of it in a row; test_keras_layers.c has it too."""
    return 0 if not name.startswith("half_") else 0.04 if "bfloat" in name else 0.005


def check(name):
    with open(os.path.join(FOLDER, name + ".case.json")) as file:
        case = json.load(file)
    known = {i["name"]: np.array(i["values"], i["dtype"]).reshape(i["shape"]) for i in case["inputs"]}
    failures = 0
    for file in sorted(os.listdir(FOLDER)):
        if not file.startswith(name + ".again"):
            continue
        with open(os.path.join(FOLDER, file), "rb") as opened:
            if file.endswith(".h5") and b"__ellipsis__" in opened.read():
                continue  # Keras 3.15 does not read it in an HDF5 file of its own either
        model = keras.models.load_model(os.path.join(FOLDER, file), compile=False, custom_objects=CLASSES)
        arrays = [known[tensor.name] for tensor in model.inputs] if len(known) > 1 else list(known.values())
        found = predict(model, arrays).ravel()
        unit = tolerance(name)
        if found.size != len(case["outputs"]) or not np.allclose(found, case["outputs"], rtol=2e-5 + unit, atol=2e-6 + unit):
            print(f"{file}: {found[:4]}, expected {case['outputs'][:4]}")
            failures += 1
    return failures


M = {name: model for name, model in M.items() if re.fullmatch(os.environ.get("LIANA_KERAS_LAYERS", ".*"), name)}
if ACTION == "make":
    for name, model in M.items():
        make(name, model)
    sys.exit(0)
failed = sum(check(name) for name in M)
print(f"{len(M)} models, {failed} files differ")
sys.exit(1 if failed else 0)
